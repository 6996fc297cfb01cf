package recipe

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

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
	if c := h.ledger.find(id); c != nil && c.known == 0 {
		h.ledger.remove(c)
		c.settled.Close()
	}
}

// takesOver is a znode that no possession came of, if anybody wants one.
func (h *claimant[P]) takesOver(standing []string) string {
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if !slices.ContainsFunc(h.ledger.claims, func(c *claim[P]) bool { return !c.withdrawn && !c.wasGranted() }) {
		return ""
	}
	for _, path := range standing {
		if _, used := h.ledger.used[path]; !used {
			return path
		}
	}
	return ""
}

// reset forgets what was the crashed incarnation's.
func (h *claimant[P]) reset() {
	h.forget()
	h.publish(machine.Standing{}) // as a machine begins; what it says from here on is what changes
	h.dropGranted()
}

func (h *claimant[P]) tellClaims() {
	for _, c := range h.ledger.all() {
		h.want(c)
		if h.withdrawn(c) {
			h.withdraw(c)
		}
	}
}

// dropGranted takes claims out of the ledger that had their one possession from the incarnation
// before.
func (h *claimant[P]) dropGranted() {
	for _, c := range h.ledger.all() {
		h.ledger.mu.Lock()
		p, had := c.held, c.wasGranted()
		c.held = nil
		h.ledger.mu.Unlock()
		if p != nil {
			p.freed.Close()
		}
		if had {
			h.ledger.remove(c)
			c.settled.Close()
		}
	}
}
