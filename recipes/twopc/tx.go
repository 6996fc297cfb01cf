package twopc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
	"github.com/troupe-go/troupe/session"
)

// Tx is a transaction at its coordinator. It is safe for concurrent use.
type Tx struct {
	c  *Coordinator
	id string

	request protocol.Request // the last one. The coordinator's mutex guards request and ack.
	ack     *call

	sent  notify.Latch // closes when the request to begin the transaction is sent
	begun notify.Latch // closes when the transaction has begun, or is taken over
	votes *notify.Finite[Vote]
	voted map[string]bool // the sites whose votes were delivered. Only the actor uses it; after a crash it sees the votes again.
	decision
}

func newTx(c *Coordinator, r protocol.Request) *Tx {
	return &Tx{
		c: c, id: cmp.Or(r.ID, r.Asked), request: r, // errors name another coordinator by its GUID
		votes: notify.NewFinite[Vote](len(r.Sites)), voted: map[string]bool{},
	}
}

// ID is the transaction's id.
func (t *Tx) ID() string { return t.id }

// Votes delivers each vote once, when the coordinator sees it. The channel closes with Done; votes
// sent before can still be received. Votes that are not needed because the decision came first may
// be left out.
func (t *Tx) Votes() <-chan Vote { return t.votes.C() }

// Done closes when there is nothing more to wait for: with the decision, or without one. Err then
// says which.
func (t *Tx) Done() <-chan struct{} { return t.end.Done() }

// Err is nil exactly while Done is open. Afterwards it is [ErrDecided]; the coordinator's Err, if
// that ended first; [ErrGone]; or an error of ZooKeeper, which has refused a request. After a
// refusal nothing decides the transaction while this coordinator lives, until [Coordinator.Recover]
// returns it, here or at another coordinator. session.ErrUnknownOutcome comes with the error if it
// is not known whether the transaction has begun.
func (t *Tx) Err() error { return t.end.Err() }

// Abort decides to abort the transaction, unless it is decided, and returns when there is a
// decision: nil if the transaction is aborted, [ErrDecided] if it is committed. After any other
// error, such as those of Err, it may be either. ctx bounds the wait; if it ends first, the attempt
// goes on. The reason, at most 1,024 bytes, is stored in the record.
func (t *Tx) Abort(ctx context.Context, reason string) error {
	err := checkLength("reason", reason)
	if err == nil {
		if t.end.Err() == nil {
			t.giveUp(reason, false)
		}
		err = notify.Wait(ctx, t.end.Done())
	}
	if err == nil && t.Outcome() != Aborted {
		err = t.end.Err()
	}
	return recipe.Failed(t.c.session, "abort", t.path(), err)
}

// Ack acknowledges the outcome: the application has recorded it, durably, and does not need the
// transaction any more. [Coordinator.Recover] does not return the transaction again, and when its
// sites have acknowledged it too, its id is free. Without Ack two small znodes stay. ctx bounds the
// wait; if it ends first, the acknowledgement goes on. Errors: [ErrUndecided]; those of Err,
// without an outcome; session.ErrClosed; those of ZooKeeper, after which it may be tried again.
func (t *Tx) Ack(ctx context.Context) error {
	err := t.end.Err()
	switch {
	case t.Outcome() != Undecided:
		var r *call
		t.c.ask(t, func() bool {
			first := t.ack == nil // else the acknowledgement is pending or done
			if first {
				t.ack, t.request.Stage = new(call), protocol.Acknowledging
			}
			r = t.ack
			return first
		})
		err = r.wait(ctx)
	case err == nil:
		err = ErrUndecided
	}
	return recipe.Failed(t.c.session, "acknowledge", t.path(), err)
}

// giveUp tells the machine to abort the transaction. The first reason counts.
func (t *Tx) giveUp(reason string, withdrawn bool) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if !t.request.Aborts {
		t.request.Abort = protocol.Abort{Aborts: true, Reason: reason, Withdrawn: withdrawn}
		t.c.host.Tell(t.request)
	}
}

// unknownOutcome is the error of a Begin that may or may not have begun the transaction.
func unknownOutcome(err error) error {
	return fmt.Errorf("%w: the transaction may have begun: %w", session.ErrUnknownOutcome, err)
}

func (t *Tx) path() string { return t.c.root.Tx(t.id) }

// awaitBegun waits until the transaction has begun, or is taken over, or another coordinator has
// answered. If ctx ends first, it gives the request up; the machine answers at once if it was not
// sent.
func (t *Tx) awaitBegun(ctx context.Context, begins bool) error {
	select {
	case <-t.begun.C():
	case <-t.end.Done():
	case <-ctx.Done():
	}
	err := t.end.Err() // read before begun, which closes first
	if t.begun.Closed() {
		return nil
	}
	if err == nil {
		t.giveUp("given up before it began", begins)
		if !begins {
			return context.Cause(ctx)
		}
		select {
		case <-t.end.Done():
		case <-t.sent.C():
		case <-time.After(100 * time.Millisecond): // the actor is being restarted
		}
		err = t.end.Err()
	}
	switch {
	case err == nil || t.begun.Closed():
		return unknownOutcome(context.Cause(ctx))
	case errors.Is(err, ErrDecided): // it was withdrawn, by giveUp or by Close
		return cmp.Or(context.Cause(ctx), session.ErrClosed)
	}
	return err
}

// progress replaces the request: it is sent, or the transaction has begun or was taken over.
func (t *Tx) progress(request protocol.Request) {
	t.c.mu.Lock()
	if t.request.Stage == protocol.Recovering {
		t.votes = notify.NewFinite[Vote](len(request.Sites))
	}
	request.Abort = t.request.Abort
	t.request = request
	t.c.mu.Unlock()
	if request.Stage == protocol.Beginning {
		t.sent.Close()
	} else {
		t.begun.Close()
	}
}

// deliver delivers a site's vote, once.
func (t *Tx) deliver(v protocol.Vote) {
	if !t.voted[v.Site] {
		t.voted[v.Site] = true
		t.votes.Send(Vote{v.Site, Outcome(v.Outcome()), v.Reason})
	}
}

func (t *Tx) learn(e protocol.Decided) {
	if e.By != "" {
		t.deliver(protocol.Vote{Site: e.By, Reason: e.Reason})
		e.Reason = fmt.Sprintf("site %q: %s", e.By, e.Reason)
	}
	t.decide(t.c.host, t.id, e.Outcome, e.Reason)
	how := e.Outcome.String()
	if e.Reason != "" {
		how += ": " + e.Reason
	}
	t.finish(fmt.Errorf("%w: %s", ErrDecided, how))
}

// onEnded handles the end of a request.
func (t *Tx) onEnded(e protocol.Ended) {
	t.c.mu.Lock()
	ack := t.ack
	if e.N != t.request.N {
		ack = nil
	} else if e.Err != nil {
		t.ack = nil // it may be tried again
	}
	t.c.mu.Unlock()
	switch {
	case ack != nil:
		ack.answer(e.Err)
	case e.Err == nil: // the transaction is decided; or another coordinator has answered
		t.begun.Close()
	case e.InDoubt:
		t.finish(unknownOutcome(e.Err))
	case errors.Is(e.Err, protocol.ErrWithdrew):
		t.learn(protocol.Decided{Outcome: protocol.Aborted, Reason: "given up before it began"})
	default:
		t.finish(e.Err)
	}
}

func (t *Tx) finish(err error) {
	t.end.Set(recipe.Failed(t.c.session, "transaction", t.path(), err))
	t.votes.Close()
}

// Entry is a transaction as it is in ZooKeeper.
type Entry struct {
	ID      string
	Since   time.Time // the time of the beginning, by the servers' clocks
	Outcome Outcome
	Reason  string             // why it was aborted
	Sites   []string           // in the order of Begin
	Votes   map[string]Outcome // by site; Undecided: none yet. A site that has acknowledged the outcome has none.
}

// List reads all transactions under the path, of any coordinator, the oldest first: it syncs, and
// reads each with its votes. It leaves out other znodes, and transactions that are complete
// meanwhile: the coordinator and all sites have acknowledged. Along with an error come the
// transactions that could be read. Errors: session.ErrNoNode if there never was a transaction;
// others of ZooKeeper; ctx's cause; session.ErrClosed.
func (c *Coordinator) List(ctx context.Context) (all []Entry, err error) {
	if err := c.Err(); err != nil {
		return nil, recipe.Failed(c.session, "list", c.path, err)
	}
	err = c.session.Sync(ctx, c.path)
	ids, _, failed := c.session.Children(ctx, c.root.Transactions())
	err = cmp.Or(err, failed)
	for _, id := range slices.Sorted(slices.Values(ids)) {
		switch e, failed := c.read(ctx, id); {
		case failed == nil && e.ID != "":
			all = append(all, e)
		case !errors.Is(failed, session.ErrNoNode):
			err = cmp.Or(err, failed)
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return a.Since.Compare(b.Since) })
	return all, recipe.Failed(c.session, "list", c.path, err)
}

// read reads a transaction. It lists the votes first: a vote is deleted only after the decision, so
// the record that is read later tells why one is missing.
func (c *Coordinator) read(ctx context.Context, id string) (Entry, error) {
	names, _, err := c.session.Children(ctx, c.root.Tx(id))
	data, stat, failed := c.session.Get(ctx, c.root.Tx(id))
	r, ok := protocol.ParseRecord(data)
	if err = cmp.Or(err, failed); err != nil || !ok {
		return Entry{}, err
	}
	e := Entry{ID: id, Since: stat.Ctime, Outcome: Outcome(r.State), Reason: r.Reason, Sites: r.Sites, Votes: map[string]Outcome{}}
	for _, site := range r.Sites {
		path := c.root.Vote(id, r.GUID, site)
		if _, name := znode.Split(path); err == nil && slices.Contains(names, name) {
			if data, stat, err = c.session.Get(ctx, path); errors.Is(err, session.ErrNoNode) {
				return c.read(ctx, id) // acknowledged meanwhile: the record may be another, too
			}
			e.Votes[site] = Undecided
			if stat.Version > 0 {
				e.Votes[site] = Outcome(protocol.ParseVote(site, data).Outcome())
			}
		}
	}
	return e, err
}
