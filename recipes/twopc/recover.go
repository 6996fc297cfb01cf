package twopc

import (
	"context"
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
	"github.com/troupe-go/troupe/session"
)

// Recover takes over the transactions under the path whose coordinator has died, in whatever
// process it was: those undecided, which this coordinator decides from now on, with a new vote
// timeout; and those decided whose outcome was not acknowledged ([Tx.Ack]), even if all sites have
// acknowledged. Call it when a coordinator starts, before anything else. Transactions of live
// coordinators are left to them. Recover does not return transactions that this coordinator's
// application has already, in progress or as an outcome; of these it remembers as many of the
// latest as [WithRetention] keeps. If it is uncertain whether a coordinator is alive, because its
// session has not expired, Recover waits until that is known; ctx bounds the wait. It does so for
// every coordinator under the path: when it has returned, no request of a dead one is in flight any
// more, so an id under which nothing was found may be begun again.
//
// A coordinator whose session has expired may still be alive. Then it has its transactions as well:
// each coordinator learns the same outcome and acknowledges it, in any order. A transaction that
// another coordinator has acknowledged before it could be taken over is not returned.
//
// At last Recover waits for the outcome of transactions of this coordinator whose caller has left
// without one: because the context of Begin or Recover ended, or because ZooKeeper refused what was
// needed. It returns these as well, except what began for no caller and is aborted. While ZooKeeper
// refuses, only the end of ctx ends the wait.
//
// If ctx ends or the coordinator closes first, the transactions taken over so far are returned
// along with the error. What was just being taken over is aborted, unless it is decided, and the
// next Recover returns it.
func (c *Coordinator) Recover(ctx context.Context) ([]*Tx, error) {
	const op = "recover"
	if err := c.Err(); err != nil {
		return nil, failed(op, c.path, err)
	}
	left := slices.DeleteFunc(c.inOrder(), func(t *Tx) bool { return !t.left.Load() }) // without an outcome
	if err := c.othersSettled(ctx); err != nil {
		return nil, failed(op, c.path, err)
	}
	ids, err := c.names(ctx, c.root.Transactions())
	if err != nil {
		return nil, failed(op, c.path, err)
	}
	var asked []*Tx
	for _, id := range ids {
		asked = append(asked, c.adopt(id, ""))
	}
	var taken []*Tx
	var failure error
	take := func(t *Tx) {
		switch err := t.await(ctx); {
		case err == nil:
			taken = append(taken, t)
		case errors.Is(err, protocol.ErrNotRecoverable):
		case failure == nil:
			failure = failed(op, t.path(), err)
		}
	}
	for _, t := range asked {
		take(t)
	}
	for _, t := range left { // last: what it needs may be refused for long
		if err := notify.Wait(ctx, t.over.C()); err != nil {
			return taken, failed(op, t.path(), err)
		}
		take(c.adopt(t.id, t.other))
	}
	return taken, failure
}

// othersSettled returns when each of the other coordinators has answered, or its session is over. A
// process that was killed may have sent a Begin that is not carried out yet, and that would take
// effect under an id that is used again meanwhile.
func (c *Coordinator) othersSettled(ctx context.Context) error {
	guids, err := c.names(ctx, c.root.Coordinators())
	if err != nil {
		return err
	}
	var asked []*Tx
	for _, guid := range guids {
		if guid != c.guid {
			asked = append(asked, c.adopt("", guid))
		}
	}
	for _, t := range asked {
		if e := t.await(ctx); e != nil && !errors.Is(e, protocol.ErrNotRecoverable) && err == nil {
			err = e
		}
	}
	return err
}

func (c *Coordinator) adopt(id, other string) *Tx {
	t := newTx(c, id, nil)
	t.adopting, t.other = true, other
	c.enter(t)
	return t
}

// names are the current children of a znode, sorted; none if it does not exist.
func (c *Coordinator) names(ctx context.Context, path string) ([]string, error) {
	if err := c.session.SyncQuorum(ctx, path); err != nil {
		return nil, err
	}
	names, _, err := c.session.Children(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	slices.Sort(names)
	return names, err
}
