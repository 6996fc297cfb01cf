package twopc

import (
	"context"
	"errors"
	"slices"

	"github.com/troupe-go/troupe/recipes/twopc/internal/pact"
	"github.com/troupe-go/troupe/session"
)

// Recover takes over the transactions under the path whose coordinator died, in whatever process it
// was: those undecided, which from now on are this coordinator's to decide, with a vote timeout of
// their own; and those decided whose outcome was not acknowledged ([Tx.Ack]), also if all sites are
// through with them. Call it when a coordinator starts again, before anything else. Transactions of
// coordinators that live are left to them, and those of this coordinator that the application has,
// in progress or as an outcome, of which the last are known that [WithRetention] keeps. Where it
// can't be told yet whether one lives, because its session has not expired, Recover waits for
// either sign; ctx bounds that. It does so for every coordinator under the path: when it has
// returned, nothing that a dead one has sent is under way any more, so that an id of which nothing
// was found may be begun again.
//
// A coordinator whose session has expired may live on. It then has its transactions as well: each
// is told the one outcome and acknowledges it, in whatever order. What another has acknowledged
// before it could be taken over is not returned.
//
// If ctx ends or the coordinator closes first, those taken over by then are returned along with the
// error.
func (c *Coordinator) Recover(ctx context.Context) ([]*Tx, error) {
	const op = "recover"
	if err := c.Err(); err != nil {
		return nil, failed(op, c.path, err)
	}
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
	for _, t := range asked {
		switch err := t.await(ctx); {
		case err == nil:
			taken = append(taken, t)
		case errors.Is(err, pact.ErrNobodys):
		case failure == nil:
			failure = failed(op, t.path(), err)
		}
	}
	return taken, failure
}

// othersSettled returns when each of the other coordinators has answered, or its session is over: a
// process that was killed may have sent a beginning that is not carried out yet, and which would
// come back under an id that is used again meanwhile.
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
		if e := t.await(ctx); e != nil && !errors.Is(e, pact.ErrNobodys) && err == nil {
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

// names are the children of a znode now, sorted; none if it does not exist.
func (c *Coordinator) names(ctx context.Context, path string) ([]string, error) {
	if err := c.session.Sync(ctx, path); err != nil {
		return nil, err
	}
	names, _, err := c.session.Children(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	slices.Sort(names)
	return names, err
}
