package twopc

import (
	"context"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

// Outcome is the state of a transaction, or a vote. Once it is not Undecided it never changes, for
// any party.
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
	Site   string // its name
	Commit bool   // false: to abort
	Reason string // of a vote to abort
}

// decision is what a party knows of the outcome of a transaction.
type decision struct {
	decided notify.Latch
	outcome Outcome // written before
	reason  string
	end     notify.End
}

// Decided closes when the outcome is known here. It is written to ZooKeeper then, and final for all
// parties. (What [Coordinator.Begin] withdrew before it began is aborted without that.) It stays
// open if the outcome can't be learned here: see Done.
func (d *decision) Decided() <-chan struct{} { return d.decided.C() }

// Outcome is Undecided until Decided closes.
func (d *decision) Outcome() Outcome {
	if d.decided.Closed() {
		return d.outcome
	}
	return Undecided
}

// Reason says why the transaction was aborted; "" if it was not.
func (d *decision) Reason() string {
	if d.decided.Closed() {
		return d.reason
	}
	return ""
}

// decide notes the outcome, once. The actor calls it.
func (d *decision) decide(outcome protocol.Outcome, reason string) {
	if !d.decided.Closed() {
		d.outcome, d.reason = Outcome(outcome), reason
		d.decided.Close()
	}
}

// call is a request to the machine that callers wait for. It outlives the machine.
type call struct {
	done notify.Latch
	err  error // written before
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
	// ErrDecided: the transaction is decided. It refuses a vote after the decision, and an abort of
	// a committed transaction. It is also the Err of a [Tx] that has been decided.
	ErrDecided error = protocol.ErrDecided

	// ErrUndecided refuses an acknowledgement before the decision.
	ErrUndecided error = protocol.ErrUndecided

	// ErrVoted refuses a vote that differs from the one that this site has cast, perhaps before a
	// restart.
	ErrVoted error = protocol.ErrVoted

	// ErrDuplicate: the name is taken. It refuses to begin a transaction with the id of one that
	// some site has not acknowledged, and ends a [Site] if another one with its name is alive.
	ErrDuplicate error = protocol.ErrDuplicate

	// ErrBusy refuses to begin a transaction with a site that has 8,192 transactions that it has
	// not acknowledged. Nothing was done; try again later.
	ErrBusy error = protocol.ErrBusy

	// ErrFinished refuses to begin a transaction with the id of one that all sites have
	// acknowledged and whose coordinator's application has not: see [Tx.Ack]. Waiting does not
	// help. If the process that had it has died, [Coordinator.Recover] returns it.
	ErrFinished error = protocol.ErrFinished

	// ErrGone: the transaction's znodes were gone before this side learned its outcome, which can't
	// be known here. They were deleted by hand; or another coordinator has recovered the
	// transaction, because this one was taken for dead, and has acknowledged the outcome.
	ErrGone error = protocol.ErrGone
)
