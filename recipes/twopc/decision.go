package twopc

import (
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/notify"
)

// decision is what a party knows of the outcome of a transaction.
type decision struct {
	decided *notify.Latch
	verdict atomic.Pointer[verdict]
	end     notify.End
}

type verdict struct {
	outcome Outcome
	reason  string
}

// Decided closes when the outcome is known here. It is written to ZooKeeper then, and final for all
// parties. (What [Coordinator.Begin] withdrew before it began is aborted without that.) It stays
// open if the outcome can't be learned here: see Done.
func (d *decision) Decided() <-chan struct{} { return d.decided.C() }

// Outcome is Undecided until Decided closes.
func (d *decision) Outcome() Outcome {
	if v := d.verdict.Load(); v != nil {
		return v.outcome
	}
	return Undecided
}

// Reason says why the transaction was aborted; "" if it was not.
func (d *decision) Reason() string {
	if v := d.verdict.Load(); v != nil {
		return v.reason
	}
	return ""
}

// decide notes the outcome, once.
func (d *decision) decide(outcome Outcome, reason string) {
	d.verdict.CompareAndSwap(nil, &verdict{outcome, reason})
	d.decided.Close()
}

// request is a pending request to the machine, with its answer.
type request struct {
	done *notify.Latch
	err  error // written before
}

func newRequest() *request { return &request{done: notify.NewLatch()} }

// answer answers a request, if there is one.
func (r *request) answer(err error) {
	if r != nil {
		r.err = err
		r.done.Close()
	}
}
