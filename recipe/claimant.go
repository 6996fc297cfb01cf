package recipe

import (
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// granting is what a host has of its [Claims], whatever they offer; [none] if it has none.
type granting interface {
	incarnation(a *actor) claimed
	endHolds(cause error)
	ended(err error)
}

// claimed is what an actor has of the claims: their messages and effects, and the books of what
// exists.
type claimed interface {
	receive(m message)
	carryOut(e machine.Effect) bool // false: for the actor to carry out
	note(answer machine.Event)      // of which the machine is told next
	settle()                        // ends the instance if it is to end, and nothing is left of it
	forget()                        // the epoch is over, and with it every znode of it
	phase() string                  // "": it is the machine that tells

	// Of a recovery, in this order.
	postpone(m message) bool // false: it has to wait
	reset()
	tellClaims() // the machine of what is wanted
}

// none is for recipes without claims.
type none struct{}

func (none) incarnation(*actor) claimed { return none{} }
func (none) endHolds(error)             {}
func (none) ended(error)                {}
func (none) receive(message)            {}
func (none) note(machine.Event)         {}
func (none) settle()                    {}
func (none) forget()                    {}
func (none) phase() string              { return "" }
func (none) postpone(message) bool      { return false }
func (none) reset()                     {}
func (none) tellClaims()                {}

func (none) carryOut(e machine.Effect) bool {
	switch e.(type) {
	case machine.Enter, machine.Record, machine.Release, machine.Downgrade, machine.Grant, machine.End, machine.Revoked, machine.Freed,
		machine.Settle, machine.Publish:
		panic(fmt.Sprintf("recipe: %T is for a machine that is run with NewClaims", e))
	}
	return false
}

// claimant is the claims' part of one incarnation of an instance's actor.
type claimant[P any] struct {
	claims    *Claims[P]
	actor     *actor
	contender contender
	published machine.Phase
	leaving   map[string]struct{} // what is being deleted
	replacing replacement         // what the Enter under way deletes in its transaction
}

// replacement is an own znode that an Enter deletes in its transaction.
type replacement struct {
	epoch uint64
	path  string
}

func (i *Claims[P]) incarnation(a *actor) claimed {
	h := &claimant[P]{claims: i, actor: a}
	h.contender = contender{actor: a, name: i.cfg.Name, form: i.cfg.Form, data: i.cfg.Data, parent: i.cfg.Parent}
	if a.self.Incarnation() > 1 {
		h.publish(machine.Standing{Phase: machine.Offering, Stale: true}) // whatever the one before said last
	}
	return h
}

func (h *claimant[P]) phase() string { return h.published.String() }

func (h *claimant[P]) receive(m message) {
	switch m := m.(type) {
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
	}
}

// note keeps the books of what exists.
func (h *claimant[P]) note(ev machine.Event) {
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
	}
}

func (h *claimant[P]) onWanted(m wanted) {
	if c := h.claims.ledger.find(m.claim); c != nil {
		h.want(c)
	}
}

// want tells the machine of a claim, once: a recovery may have found it in the ledger before the
// message came.
func (h *claimant[P]) want(c *claim[P]) {
	if c.known == h.actor.self.Incarnation() {
		return
	}
	c.known = h.actor.self.Incarnation()
	h.actor.step(machine.Wanted{Claim: c.id, Once: c.once, Try: c.try})
}

func (h *claimant[P]) onWithdrawn(m withdrawn) {
	if c := h.claims.ledger.find(m.claim); c != nil {
		h.withdraw(c)
	}
	h.settle()
}

// withdraw tells the machine that a claim is no longer wanted, once: a recovery may have told it
// before the message came.
func (h *claimant[P]) withdraw(c *claim[P]) {
	if c.told == h.actor.self.Incarnation() {
		return
	}
	c.told = h.actor.self.Incarnation()
	h.actor.step(machine.Withdrawn{Claim: c.id, Lost: c.held != nil && c.held.lost()})
}

func (h *claimant[P]) onReleased(p *Possession) {
	if c := h.holder(p); c != nil {
		h.actor.step(machine.Released{Claim: c.id})
		return
	}
	h.unheld(p)
}

func (h *claimant[P]) onLost(p *Possession) {
	c := h.holder(p)
	if c == nil {
		h.unheld(p)
		return
	}
	h.holdEnded(c)
	h.settle()
}

// unheld: the possession's znode was deleted, or its epoch ended, before its end was heard of here.
func (h *claimant[P]) unheld(p *Possession) {
	if !h.claims.ledger.stands(p) {
		p.freed.Close()
	}
}

// holdEnded: the claim's possession has ended by itself.
func (h *claimant[P]) holdEnded(c *claim[P]) {
	if h.withdrawn(c) {
		return // word of that is on its way, tells how the possession has ended, and settles it
	}
	h.setHeld(c, nil)
	if c.once {
		h.claims.ledger.remove(c)
		c.settled.Close()
	}
	h.actor.step(machine.HoldEnded{Claim: c.id})
}

// holder returns the claim that has this possession now.
func (h *claimant[P]) holder(p *Possession) *claim[P] {
	c := h.claims.ledger.find(p.claim)
	if c == nil {
		return nil
	}
	h.claims.ledger.mu.Lock()
	defer h.claims.ledger.mu.Unlock()
	if c.held != p {
		return nil
	}
	return c
}

func (h *claimant[P]) withdrawn(c *claim[P]) bool {
	h.claims.ledger.mu.Lock()
	defer h.claims.ledger.mu.Unlock()
	return c.withdrawn
}

func (h *claimant[P]) setHeld(c *claim[P], p *Possession) {
	h.claims.ledger.mu.Lock()
	defer h.claims.ledger.mu.Unlock()
	c.held = p
}

func (h *claimant[P]) forget() {
	h.leaving = nil
	for _, p := range h.claims.ledger.takeGranted() {
		p.freed.Close()
	}
	h.settle()
}

func (h *claimant[P]) settle() {
	h.claims.ledger.mu.Lock()
	over := h.claims.ledger.closing && len(h.claims.ledger.claims) == 0 && len(h.claims.ledger.granted) == 0 && len(h.leaving) == 0
	h.claims.ledger.mu.Unlock()
	if over {
		h.actor.carryOut(machine.Stop{})
	}
}

func (h *claimant[P]) postpone(m message) bool {
	switch m := m.(type) {
	case wanted:
		return true // it is in the ledger, and the machine is told of all that is there
	case withdrawn:
		h.dropUntold(m.claim)
		return true
	}
	return false
}

// dropUntold settles a claim that was withdrawn before any machine knew of it: nothing came of it.
// The withdrawal of others is noted in the ledger, of which the machine is told when the
// recovery is done. So nothing piles up, however long that takes and whatever is tried in vain
// meanwhile.
func (h *claimant[P]) dropUntold(id machine.Claim) {
	if c := h.claims.ledger.find(id); c != nil && c.known == 0 {
		h.claims.ledger.remove(c)
		c.settled.Close()
	}
}

// reset forgets what was the crashed incarnation's: all of it is gone. A claim that had its one
// possession is over.
func (h *claimant[P]) reset() {
	h.forget()
	h.publish(machine.Standing{}) // as a machine begins; what it says from here on is what changes
	for _, c := range h.claims.ledger.all() {
		h.claims.ledger.mu.Lock()
		p, had := c.held, c.wasGranted()
		c.held = nil
		h.claims.ledger.mu.Unlock()
		if p != nil {
			p.freed.Close()
		}
		if had {
			h.claims.ledger.remove(c)
			c.settled.Close()
		}
	}
}

func (h *claimant[P]) tellClaims() {
	for _, c := range h.claims.ledger.all() {
		h.want(c)
		if h.withdrawn(c) {
			h.withdraw(c)
		}
	}
}

func isReleased(err error) bool { return errors.Is(err, session.ErrReleased) }
