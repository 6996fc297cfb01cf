package recipe

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/machine"
)

// intent is an entry of the ledger: the standing intent, or a call of Claim.
type intent struct {
	// Set once.
	id     machine.Claim
	once   bool // a call of Claim: it ends with its possession
	try    bool
	caller caller // of a call; not in use for the standing intent

	// settled closes when the intent has ended and nothing of it is left in ZooKeeper, or when the
	// instance has ended.
	settled     notify.Latch
	unconfirmed atomic.Bool // the instance has ended; set before settled closes

	// The last incarnations whose machines were told that it is wanted, and that it is withdrawn, 0
	// if none was; the actor alone uses them.
	toldWanted, toldWithdrawn int

	// Guarded by the ledger's mutex.
	withdrawn bool
	held      *Possession
	wait      Wait // the last one
}

// caller waits for a possession, in Claim or in Downgrade.
type caller struct {
	answered atomic.Bool  // set by the outcome or by a caller that gives up, whichever is first
	outcome  chan outcome // capacity 1; nil if no caller waits
}

// outcome is what a caller gets.
type outcome struct {
	won *Possession
	err error
}

// reply gives the caller its outcome; false if it has given up, or there is no caller.
func (c *caller) reply(o outcome) bool {
	if c == nil || c.outcome == nil || c.answered.Swap(true) {
		return false
	}
	c.outcome <- o
	return true
}

// abandon says that the caller waits no longer; false if its outcome is there already.
func (c *caller) abandon() bool { return !c.answered.Swap(true) }

// ledger is the record of an instance's intents. Faces write to it from any goroutine before they
// tell the actor; every incarnation of the actor reads it. It is all that a crashed incarnation
// leaves to the next.
type ledger struct {
	host     *Host
	mu       sync.Mutex
	last     machine.Claim
	intents  []*intent // in the order in which they were entered; without those that are settled
	standing *intent   // the standing intent, nil if there is none
	closing  bool
	granted  map[string]*Possession // by the path of the possession's znode, until that is gone
}

// add enters an intent, and tells of it; nil if the instance is closing, or has the standing
// intent.
func (l *ledger) add(once, try bool, by Asked) *intent {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing || !once && l.standing != nil {
		return nil
	}
	l.last++
	in := &intent{id: l.last, once: once, try: try}
	l.host.Want(&in.wait, by)
	if once {
		in.caller.outcome = make(chan outcome, 1)
	} else {
		l.standing = in
	}
	l.intents = append(l.intents, in)
	return in
}

// withdraw records that an intent is no longer wanted, tells why, and returns its possession, if
// any.
func (l *ledger) withdraw(in *intent, why error) *Possession {
	l.mu.Lock()
	defer l.mu.Unlock()
	in.withdrawn = true
	if l.standing == in {
		l.standing = nil
	}
	in.wait.Withdraw(why)
	return in.held
}

// lastStanding returns the standing intent, or else the last one that was withdrawn and is not
// settled yet; nil if there is none.
func (l *ledger) lastStanding() *intent {
	for _, in := range slices.Backward(l.all()) {
		if !in.once {
			return in
		}
	}
	return nil
}

// find returns the intent of that number, nil if it is settled.
func (l *ledger) find(id machine.Claim) *intent {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, in := range l.intents {
		if in.id == id {
			return in
		}
	}
	return nil
}

// remove takes a settled intent out of the ledger.
func (l *ledger) remove(in *intent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.intents = slices.DeleteFunc(l.intents, func(o *intent) bool { return o == in })
	if l.standing == in {
		l.standing = nil
	}
}

// all returns the intents in order.
func (l *ledger) all() []*intent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.intents)
}

// close refuses further intents, and returns those in the ledger; none if it was closed before.
func (l *ledger) close() []*intent {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil
	}
	l.closing = true
	l.standing = nil
	return slices.Clone(l.intents)
}

// release records that an intent has its possession no more, which has ended. It waits again if it
// goes on: the standing intent, or a call that had no answer.
func (l *ledger) release(in *intent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cause := in.held.Err()
	in.held.tenure.End(cause, in.held.lost(cause)) // whoever ended it may not have come to that yet
	in.held = nil
	if !in.withdrawn && !(in.once && in.caller.answered.Load()) {
		l.host.Want(&in.wait, in.wait.asked)
	}
}

// give records the possession of an intent, and its znode.
func (l *ledger) give(in *intent, p *Possession) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.granted == nil {
		l.granted = make(map[string]*Possession)
	}
	in.held, l.granted[p.Path()] = p, p
}

// hasZnode tells whether the znode of a possession is not known to be gone.
func (l *ledger) hasZnode(p *Possession) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.granted[p.Path()] == p
}

// takeGranted forgets the znodes of all possessions, because they are gone or the instance has
// ended.
func (l *ledger) takeGranted() map[string]*Possession {
	l.mu.Lock()
	defer l.mu.Unlock()
	granted := l.granted
	l.granted = nil
	return granted
}
