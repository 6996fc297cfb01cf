package twopc

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
	"github.com/troupe-go/troupe/session"
)

// Tx is a transaction at its coordinator. It is safe for concurrent use.
type Tx struct {
	c  *Coordinator
	n  uint64
	id string

	guid     string   // these are guarded by the coordinator's mutex
	sites    []string // and so on
	payload  []byte   // until it has begun
	adopting bool
	other    string          // the coordinator that is waited for, without a transaction
	shared   protocol.Shared // with other coordinators
	floor    int64
	abort    *protocol.Abort
	alone    bool     // no caller has it that could acknowledge it
	lost     bool     // the application had it, and was told that the outcome can't be known
	ack      *request // pending, or done

	answered notify.End // it has begun (errBegun), or was refused
	votes    *notify.Finite[Vote]
	voted    map[string]bool // the sites whose votes were delivered; used by the actor alone, which sees them again after a crash
	decision
}

// errBegun ends the wait for the beginning.
var errBegun = errors.New("begun")

func newTx(c *Coordinator, id string, sites []string) *Tx {
	return &Tx{
		c: c, id: id, sites: sites, votes: notify.NewFinite[Vote](len(sites)), voted: map[string]bool{}, decision: decision{decided: notify.NewLatch()},
	}
}

// ID is the transaction's id.
func (t *Tx) ID() string { return t.id }

// Votes delivers each vote once, as it is seen. It closes with Done; votes seen before can still be
// received. If the decision comes first, votes that it did not need are left out.
func (t *Tx) Votes() <-chan Vote { return t.votes.C() }

// Done closes when there is nothing more to wait for: with the decision, or without one. Err then
// says which. If two coordinators have the transaction, because one has taken it over and the other
// is still alive, both learn the outcome, even the one that comes after the other has acknowledged
// it.
func (t *Tx) Done() <-chan struct{} { return t.end.Done() }

// Err is nil exactly while Done is open. Afterwards it is one of: [ErrDecided]; session.ErrClosed,
// if the coordinator or its session ended first, so that the sites abort; [ErrGone], if the
// transaction was deleted by hand or swept before its outcome was seen here; or an error of
// ZooKeeper. In the last case it is aborted as soon as that is permitted, unless the sites have
// decided it, and [Coordinator.Recover] returns it.
func (t *Tx) Err() error { return t.end.Err() }

// Abort decides to abort the transaction, unless it is decided, and returns when there is a
// decision: nil if it is aborted, [ErrDecided] if it is committed. ctx bounds the wait; if it ends
// first, the attempt goes on. The reason, at most 1,024 bytes, is stored in the record.
func (t *Tx) Abort(ctx context.Context, reason string) error {
	const op = "abort"
	if err := checkReason(reason); err != nil {
		return failed(op, t.path(), err)
	}
	if t.end.Err() == nil {
		t.giveUp(reason, false)
	}
	if err := notify.Wait(ctx, t.end.Done()); err != nil {
		return failed(op, t.path(), err)
	}
	if t.Outcome() == Aborted {
		return nil
	}
	return failed(op, t.path(), t.end.Err())
}

// Ack acknowledges the outcome: the application has recorded it, durably if it must outlive the
// process, and does not need the transaction any more. [Coordinator.Recover] does not return it
// again, and when its sites have acknowledged it too, its id can be used again. Until then its
// znodes stay. Call it once Decided has closed; calling it again is no error. It may be left out:
// see [WithRetention].
//
// ctx bounds the wait; if it ends first, the acknowledgement goes on. Errors: [ErrUndecided];
// [ErrGone]; session.ErrClosed; those of ZooKeeper, after which it may be tried again.
func (t *Tx) Ack(ctx context.Context) error {
	const op = "acknowledge"
	if t.Outcome() == Undecided {
		err := t.end.Err()
		if err == nil {
			err = ErrUndecided
		}
		return failed(op, t.path(), err)
	}
	r := t.acknowledge()
	if err := notify.Wait(ctx, r.done.C()); err != nil {
		return failed(op, t.path(), err)
	}
	return failed(op, t.path(), r.err)
}

// acknowledge records the acknowledgement and tells the machine, unless one is pending or done.
func (t *Tx) acknowledge() *request {
	c := t.c
	c.mu.Lock()
	if t.ack != nil {
		defer c.mu.Unlock()
		return t.ack
	}
	r := newRequest()
	t.ack = r
	c.last++
	t.n = c.last // a new number: the machine may not have finished the previous request
	c.txs[t.n] = t
	n, told := t.n, c.host.Tell(t.event(false))
	c.mu.Unlock()
	if !told {
		c.drop(n)
		t.settled(session.ErrClosed)
	}
	return r
}

// settled answers a pending acknowledgement.
func (t *Tx) settled(err error) {
	t.c.mu.Lock()
	r := t.ack
	if err != nil {
		t.ack = nil // it may be tried again
	}
	t.c.mu.Unlock()
	r.answer(err)
}

// decidedAlone handles an outcome that no caller has. A caller that gave up a Begin treats it as
// aborted; all others are recovered.
func (t *Tx) decidedAlone() {
	t.c.mu.Lock()
	alone, lost := t.alone, t.lost
	t.c.mu.Unlock()
	switch {
	case !alone:
	case t.Outcome() == Aborted && !t.adopting && !lost:
		t.acknowledge()
	default:
		t.c.release(t.guid)
		t.c.host.Tell(protocol.Release{GUID: t.guid})
	}
}

// giveUp records that the transaction is to be aborted and tells the machine. alone: no caller will
// have it and could acknowledge it.
func (t *Tx) giveUp(reason string, alone bool) {
	t.c.mu.Lock()
	if t.abort == nil {
		t.abort = &protocol.Abort{N: t.n, Reason: reason}
	}
	t.alone = t.alone || alone
	abort := *t.abort
	t.c.mu.Unlock()
	t.c.host.Tell(abort)
	if alone && t.Outcome() != Undecided { // it was decided before this was known
		t.decidedAlone()
	}
}

// hindered handles a refusal by ZooKeeper of a necessary read or write. The machine aborts the
// transaction when it can. Waiting callers get the error; the transaction can be recovered.
func (t *Tx) hindered(err error) {
	t.c.mu.Lock()
	t.alone, t.lost = true, t.lost || errors.Is(t.answered.Err(), errBegun)
	if t.abort == nil {
		t.abort = &protocol.Abort{N: t.n, Reason: "refused what is needed"}
	}
	t.c.mu.Unlock()
	t.refuse(fmt.Errorf("%w: the transaction may have begun; if so, it is aborted: %w", session.ErrUnknownOutcome, err))
	t.finish(failed("transaction", t.path(), err))
}

func (t *Tx) path() string { return t.c.root.Tx(t.id) }

// event is the event for the machine, according to the state of the transaction; again if the
// machine was told before.
func (t *Tx) event(again bool) machine.Event {
	switch {
	case t.ack != nil:
		return protocol.AckOutcome{
			N: t.n, ID: t.id, GUID: t.guid, Sites: t.sites, Outcome: protocol.Outcome(t.Outcome()), Reason: t.Reason(), Shared: t.shared,
		}
	case errors.Is(t.answered.Err(), errBegun):
		return protocol.Resume{N: t.n, ID: t.id, GUID: t.guid, Sites: t.sites}
	case t.adopting:
		return protocol.Recover{N: t.n, ID: t.id, Coordinator: t.other, Again: again}
	}
	return protocol.Begin{N: t.n, ID: t.id, GUID: t.guid, Payload: t.payload, Sites: t.sites, Peers: t.c.peers, Floor: t.floor}
}

// await waits until the transaction has begun. If ctx ends first, the transaction is given up.
func (t *Tx) await(ctx context.Context) error {
	if err := notify.Wait(ctx, t.answered.Done()); err != nil {
		t.giveUp("given up before it began", true)
		return err
	}
	if err := t.answered.Err(); !errors.Is(err, errBegun) {
		return err
	}
	return nil
}

func (t *Tx) begun() {
	t.c.mu.Lock()
	t.payload = nil
	t.c.mu.Unlock()
	t.answered.Set(errBegun)
}

func (t *Tx) taken(e protocol.Recovered) {
	t.c.mu.Lock()
	t.guid, t.sites, t.votes = e.GUID, e.Sites, notify.NewFinite[Vote](len(e.Sites))
	t.c.mu.Unlock()
	t.answered.Set(errBegun)
}

// deliver delivers a site's vote, once.
func (t *Tx) deliver(v Vote) {
	if !t.voted[v.Site] {
		t.voted[v.Site] = true
		t.votes.Send(v)
	}
}

// refuse answers a caller that waits for the beginning, unless it was answered.
func (t *Tx) refuse(err error) { t.answered.Set(err) }

func (t *Tx) learn(e protocol.Decided) {
	outcome, reason := Outcome(e.Outcome), e.Reason
	t.c.mu.Lock()
	t.shared = e.Shared
	t.c.mu.Unlock()
	if e.By != "" {
		reason = fmt.Sprintf("site %q: %s", e.By, reason)
	}
	t.decide(outcome, reason)
	how := outcome.String()
	if reason != "" {
		how += ": " + reason
	}
	t.finish(&session.OpError{Op: "transaction", Path: t.path(), Err: fmt.Errorf("%w: %s", ErrDecided, how)})
}

func (t *Tx) finish(err error) {
	t.end.Set(err)
	t.votes.Close()
}
