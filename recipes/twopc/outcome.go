package twopc

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
	"github.com/troupe-go/troupe/session"
)

// Outcome is the state of a transaction, and the form of a vote. As a vote, Committed means that
// one site has voted to commit: the transaction may be aborted all the same. An outcome other than
// Undecided never changes, for any party, nor does a vote.
type Outcome int

// The outcomes.
const (
	Undecided Outcome = Outcome(protocol.Undecided) // not decided, or not known here; no vote yet
	Committed Outcome = Outcome(protocol.Committed) // every site has voted to commit; a vote to commit
	Aborted   Outcome = Outcome(protocol.Aborted)   // decided not to commit; a vote to abort
)

// String is the outcome's name, in lower case.
func (o Outcome) String() string { return protocol.Outcome(o).String() }

// Vote is a site's vote on a transaction.
type Vote struct {
	Site    string  // its name
	Outcome Outcome // Committed or Aborted
	Reason  string  // of a vote to abort
}

// decision is the outcome of a transaction, as far as one party knows it.
type decision struct {
	decided notify.Latch
	outcome Outcome // written before decided closes
	reason  string
	end     notify.End
}

// Decided closes when the outcome is known here. The outcome is in ZooKeeper then, and final for
// all parties. (A transaction that [Coordinator.Begin] withdrew before it began is aborted without
// a record there.) Decided stays open if the outcome can't be learned here: see Done.
func (d *decision) Decided() <-chan struct{} { return d.decided.C() }

// Outcome is Undecided until Decided closes.
func (d *decision) Outcome() Outcome {
	if d.decided.Closed() {
		return d.outcome
	}
	return Undecided
}

// Reason says why the transaction was aborted. It is "" if the transaction was not aborted.
func (d *decision) Reason() string {
	if d.decided.Closed() {
		return d.reason
	}
	return ""
}

// decide sets the outcome, once, and tells of it. The actor calls it.
func (d *decision) decide(h *recipe.Host, id string, outcome protocol.Outcome, reason string) {
	if d.decided.Closed() {
		return
	}
	d.outcome, d.reason = Outcome(outcome), reason
	d.decided.Close()
	ev := session.Event{Kind: session.EventDecided, Name: id, To: d.outcome.String()}
	if reason != "" {
		ev.Err = errors.New(reason)
	}
	h.Emit(ev)
}

// call is a request to the machine for which callers wait. It outlives the machine.
type call struct {
	done notify.Latch
	err  error // written before done closes
}

// answer answers a call, if there is one.
func (r *call) answer(err error) {
	if r != nil {
		r.err = err
		r.done.Close()
	}
}

func (r *call) wait(ctx context.Context) error {
	if err := notify.Wait(ctx, r.done.C()); err != nil {
		return err
	}
	return r.err
}

var (
	// ErrDecided means that the transaction is decided. A vote after the decision gets it, and an
	// abort of a committed transaction. It is also the Err of a [Tx] that is decided.
	ErrDecided error = protocol.ErrDecided

	// ErrUndecided is the error of an acknowledgement before the decision.
	ErrUndecided error = protocol.ErrUndecided

	// ErrVoted is the error of a vote that differs from the one that this site has cast, perhaps
	// before a restart.
	ErrVoted error = protocol.ErrVoted

	// ErrDuplicate means that the name is taken. [Coordinator.Begin] returns it for the id of a
	// transaction that some site has not acknowledged. If no process is that site, because its name
	// was misspelt, say, make a [Site] with that name and acknowledge the proposal: then the id is
	// free. ErrDuplicate ends a Site if another one with its name is alive.
	ErrDuplicate error = protocol.ErrDuplicate

	// ErrBusy means that a site has 8,192 transactions that it has not acknowledged.
	// [Coordinator.Begin] has done nothing: try again later.
	ErrBusy error = protocol.ErrBusy

	// ErrFinished means that the id belongs to a transaction that all sites have acknowledged, but
	// not the coordinator's application: see [Tx.Ack]. Waiting does not help. If the process of
	// that coordinator has died, [Coordinator.Recover] returns the transaction.
	ErrFinished error = protocol.ErrFinished

	// ErrGone means that the transaction's znodes were deleted before this party learned the
	// outcome, which can't be known here any more. Another client has deleted them; or another
	// coordinator has recovered the transaction, because this one was taken for dead, and has
	// acknowledged the outcome.
	ErrGone error = protocol.ErrGone
)
