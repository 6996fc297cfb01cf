package host

import (
	"errors"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// host is one incarnation of an instance's actor.
type host[P any] struct {
	*Instance[P]
	self      actors.Self[message]
	machine   machine.Machine
	phase     machine.Phase
	timers    map[uint64]*time.Timer
	leaving   map[string]struct{} // what is being deleted
	ensured   uint64              // the epoch in which the parent was seen to
	replacing replacement         // what the Enter under way deletes in its transaction
	told      uint64              // the newest notice of which the machine was told when it began

	// An incarnation after the first begins by cleaning up after the one before; until that is
	// done, what it is told waits.
	recovering bool
	pending    []message
}

// replacement is an own znode that an Enter deletes in its transaction.
type replacement struct {
	epoch uint64
	path  string
}

func newHost[P any](i *Instance[P], self actors.Self[message]) *host[P] {
	h := &host[P]{Instance: i, self: self, machine: i.cfg.Machine()}
	i.ledger.mu.Lock() // the client is known once New has let go of it
	v := i.ledger.view
	i.ledger.mu.Unlock()
	if self.Incarnation() > 1 {
		h.publish(machine.Standing{Phase: machine.Offering, Stale: true}) // whatever the one before said last
		h.takeOver(v)
	}
	return h
}

// Receive implements [actors.Receiver].
func (h *host[P]) Receive(m message) {
	if h.recovering && h.postpone(m) {
		return
	}
	switch m := m.(type) {
	case noticed:
		h.onNotice(m)
	case wanted:
		h.onWanted(m)
	case withdrawn:
		h.onWithdrawn(m)
	case released:
		h.onReleased(m.possession)
	case lost:
		h.onLost(m.possession)
	case downgradeWanted:
		h.onDowngradeWanted(m.possession)
	case closing:
		h.stopIfSettled()
	case answered:
		if m.incarnation == h.self.Incarnation() {
			h.onAnswer(m.event)
		}
	case prepared:
		h.onPrepared(m)
	case undone:
		h.onUndone(m)
	case stayed:
		h.onStayed(m)
	case recovered:
		h.onRecovered(m)
	case swept:
		h.onSwept(m)
	case poked:
		m.do()
	}
}

// Phase shows in the live tree.
func (h *host[P]) Phase() string {
	if h.recovering {
		return "recovering"
	}
	return h.phase.String()
}

// Stopping implements the end of an incarnation: what it held is over.
func (h *host[P]) Stopping(cause error) {
	for _, t := range h.timers {
		t.Stop()
	}
	if errors.Is(cause, actors.ErrRestarting) {
		h.endHolds(session.ErrRestarted)
	}
}

// step feeds the machine and carries out what follows.
func (h *host[P]) step(ev machine.Event) {
	for _, e := range h.machine.Step(ev) {
		h.carryOut(e)
	}
}

// onAnswer keeps the books of what exists, and passes the answer on.
func (h *host[P]) onAnswer(ev machine.Event) {
	switch ev := ev.(type) {
	case machine.Removed:
		delete(h.leaving, ev.Path)
		h.gone(ev.Path)
	case machine.Entered:
		if r := h.replacing; r.epoch == ev.Epoch {
			h.replacing = replacement{}
			if ev.Err == nil && r.path != "" {
				h.gone(r.path)
			}
		}
	case machine.Downgraded:
		h.onDowngraded(ev)
	case machine.Woke:
		delete(h.timers, ev.Ask)
	}
	h.step(ev)
	h.stopIfSettled()
}

func (h *host[P]) onWanted(m wanted) {
	if c := h.ledger.find(m.claim); c != nil {
		h.want(c)
	}
}

// want tells the machine of a claim, once: a recovery may have found it in the ledger before the
// message came.
func (h *host[P]) want(c *claim[P]) {
	if c.known == h.self.Incarnation() {
		return
	}
	c.known = h.self.Incarnation()
	h.step(machine.Wanted{Claim: c.id, Once: c.once, Try: c.try})
}

func (h *host[P]) onWithdrawn(m withdrawn) {
	if c := h.ledger.find(m.claim); c != nil {
		h.withdraw(c)
	}
	h.stopIfSettled()
}

// withdraw tells the machine that a claim is no longer wanted, once: a recovery may have told it
// before the message came.
func (h *host[P]) withdraw(c *claim[P]) {
	if c.told == h.self.Incarnation() {
		return
	}
	c.told = h.self.Incarnation()
	h.step(machine.Withdrawn{Claim: c.id, Lost: c.held != nil && c.held.lost()})
}

func (h *host[P]) onReleased(p *Possession) {
	if c := h.holder(p); c != nil {
		h.step(machine.Released{Claim: c.id})
		return
	}
	h.unheld(p)
}

func (h *host[P]) onLost(p *Possession) {
	c := h.holder(p)
	if c == nil {
		h.unheld(p)
		return
	}
	h.over(c)
	h.stopIfSettled()
}

// unheld: the possession's znode was deleted, or its epoch ended, before its end was heard of here.
func (h *host[P]) unheld(p *Possession) {
	if !h.ledger.stands(p) {
		p.freed.Close()
	}
}

// over: the claim's possession has ended by itself.
func (h *host[P]) over(c *claim[P]) {
	if h.withdrawn(c) {
		return // word of that is on its way, tells how the possession has ended, and settles it
	}
	h.setHeld(c, nil)
	if c.once {
		h.ledger.remove(c)
		c.settled.Close()
	}
	h.step(machine.HoldEnded{Claim: c.id})
}

// holder returns the claim that has this possession now.
func (h *host[P]) holder(p *Possession) *claim[P] {
	c := h.ledger.find(p.claim)
	if c == nil {
		return nil
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if c.held != p {
		return nil
	}
	return c
}

func (h *host[P]) withdrawn(c *claim[P]) bool {
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	return c.withdrawn
}

func (h *host[P]) setHeld(c *claim[P], p *Possession) {
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	c.held = p
}

// stopIfSettled ends the actor once it is to close and nothing is left to settle.
func (h *host[P]) stopIfSettled() {
	h.ledger.mu.Lock()
	over := h.ledger.closing && len(h.ledger.claims) == 0 && len(h.ledger.spent) == 0 && len(h.leaving) == 0
	h.ledger.settled = h.ledger.settled || over
	h.ledger.mu.Unlock()
	if over {
		h.self.Ref().Stop()
	}
}

func isReleased(err error) bool { return errors.Is(err, session.ErrReleased) }
