package twopc

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

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
	began    bool        // or was taken over
	lost     bool        // the application had it, and was told that the outcome can't be known
	ack      *request    // pending, or done
	left     atomic.Bool // no caller may have it that would acknowledge it

	answered notify.End    // it has begun (errBegun), or was refused, or that can't be known
	doubtful *notify.Latch // it was withdrawn, and may have begun
	over     *notify.Latch // nothing more will become known of it
	votes    *notify.Finite[Vote]
	voted    map[string]bool // the sites whose votes were delivered; used by the actor alone, which sees them again after a crash
	decision
}

// errBegun ends the wait for the beginning.
var errBegun = errors.New("begun")

func newTx(c *Coordinator, id string, sites []string) *Tx {
	return &Tx{
		c: c, id: id, sites: sites, votes: notify.NewFinite[Vote](len(sites)), voted: map[string]bool{}, decision: decision{decided: notify.NewLatch()},
		doubtful: notify.NewLatch(), over: notify.NewLatch(),
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

// Err is nil exactly while Done is open. Afterwards it is one of: [ErrDecided]; the coordinator's
// Err, if that ended first, so that the sites decide; [ErrGone], if the transaction was deleted by
// hand or swept before its outcome was seen here; or an error of ZooKeeper. In the last case it is
// aborted as soon as that is permitted, unless the sites have decided it, and [Coordinator.Recover]
// returns it.
func (t *Tx) Err() error { return t.end.Err() }

// Abort decides to abort the transaction, unless it is decided, and returns when there is a
// decision: nil if it is aborted, [ErrDecided] if it is committed. ctx bounds the wait; if it ends
// first, the attempt goes on. After this and any other error, such as those of Err, it may be
// aborted or committed. The reason, at most 1,024 bytes, is stored in the record.
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
	lost := t.lost
	t.c.mu.Unlock()
	switch {
	case !t.left.Load():
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
	t.left.CompareAndSwap(false, alone)
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
	lost := t.lost || t.began
	t.lost = lost
	t.left.Store(true)
	if t.abort == nil {
		t.abort = &protocol.Abort{N: t.n, Reason: "refused what is needed"}
	}
	t.c.mu.Unlock()
	t.answered.Set(unknown(err))
	if lost {
		t.finish(failed("transaction", t.path(), err))
	}
}

// unknown is the error of a Begin of which it is not known whether it has begun.
func unknown(err error) error {
	return fmt.Errorf("%w: the transaction may have begun: %w", session.ErrUnknownOutcome, err)
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
	case t.began:
		return protocol.Resume{N: t.n, ID: t.id, GUID: t.guid, Sites: t.sites}
	case t.adopting:
		return protocol.Recover{N: t.n, ID: t.id, Coordinator: t.other, Again: again}
	}
	return protocol.Begin{N: t.n, ID: t.id, GUID: t.guid, Payload: t.payload, Sites: t.sites, Peers: t.c.peers, Floor: t.floor}
}

// await waits until the transaction has begun. If ctx ends first, the transaction is withdrawn; the
// machine says at once whether it may have begun.
func (t *Tx) await(ctx context.Context) error {
	left := notify.Wait(ctx, t.answered.Done())
	if left != nil {
		t.giveUp("given up before it began", true)
		if t.adopting {
			return left
		}
		select {
		case <-t.answered.Done():
		case <-t.doubtful.C():
		case <-time.After(100 * time.Millisecond): // the actor is being restarted
		}
	}
	switch err := t.answered.Err(); {
	case errors.Is(err, protocol.ErrWithdrew):
		return left
	case err != nil && !errors.Is(err, errBegun):
		return err
	case left != nil:
		return unknown(left)
	}
	return nil
}

func (t *Tx) begun() {
	t.c.mu.Lock()
	t.payload, t.began = nil, true
	t.c.mu.Unlock()
	t.answered.Set(errBegun)
}

func (t *Tx) taken(e protocol.Recovered) {
	t.c.mu.Lock()
	t.began = true
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

// refuse ends a transaction that has not begun, and never will, unless err says otherwise.
func (t *Tx) refuse(err error) {
	switch withdrawn := errors.Is(err, protocol.ErrWithdrew); {
	case withdrawn && t.left.Load():
		t.learn(protocol.Decided{Outcome: protocol.Aborted, Reason: t.abort.Reason})
	case withdrawn: // by Close
		err = session.ErrClosed
	}
	t.answered.Set(err)
	t.finish(failed("transaction", t.path(), err))
}

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
