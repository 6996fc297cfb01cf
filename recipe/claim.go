package recipe

import (
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/machine"
)

// claim is one wish in the ledger: the standing intent, or one caller of Claim.
type claim struct {
	id    machine.Claim
	once  bool
	try   bool
	asked Asked

	// answered decides the race between the answer and the caller who gives up: whoever sets it
	// first has it.
	answered atomic.Bool
	answer   chan outcome // capacity 1, for callers

	// settled closes when the claim is over and nothing of it is left in ZooKeeper, or the instance
	// has ended.
	settled     notify.Latch
	unconfirmed atomic.Bool // it was the end of the instance; set before

	// The incarnations whose machines know that it is wanted, and that it is withdrawn; touched by
	// the actor alone.
	known, told int

	// Guarded by the ledger's mutex.
	withdrawn bool
	held      *Possession
}

// outcome is what a caller gets.
type outcome struct {
	won *Possession
	err error
}

func newClaim(id machine.Claim, once, try bool, by Asked) *claim {
	c := &claim{id: id, once: once, try: try, asked: by}
	if once {
		c.answer = make(chan outcome, 1)
	}
	return c
}

// reply gives the caller his outcome; false if he has gone.
func (c *claim) reply(o outcome) bool {
	if c.answer == nil || c.answered.Swap(true) {
		return false
	}
	c.answer <- o
	return true
}

// abandon says that the caller waits no longer; false if his outcome is already there.
func (c *claim) abandon() bool { return !c.answered.Swap(true) }

// wasGranted tells, after a crash, whether the claim got the one possession that was to come of it.
// With the ledger's mutex.
func (c *claim) wasGranted() bool { return c.once && c.held != nil && c.answered.Load() }
