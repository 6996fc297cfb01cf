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
		h.forsake(m.claim)
		return true
	}
	return false
}

// forsake settles a claim that was withdrawn before any machine knew of it: nothing can have come
// of it. The withdrawal of others is noted in the ledger, of which the machine is told when the
// recovery is done. So nothing piles up, however long that takes and whatever is tried in vain
// meanwhile.
func (h *claimant[P]) forsake(id machine.Claim) {
	if c := h.ledger.find(id); c != nil && c.known == 0 {
		h.ledger.remove(c)
		c.settled.Close()
	}
}

// takesOver is a znode that no possession came of, if anybody wants one.
func (h *claimant[P]) takesOver(standing []string) string {
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if !slices.ContainsFunc(h.ledger.claims, func(c *claim[P]) bool { return !c.withdrawn && !c.had() }) {
		return ""
	}
	for _, path := range standing {
		if _, spent := h.ledger.spent[path]; !spent {
			return path
		}
	}
	return ""
}

// anew forgets what was the crashed incarnation's.
func (h *claimant[P]) anew() {
	h.forget()
	h.publish(machine.Standing{}) // as a machine begins; what it says from here on is what changes
	h.dropHad()
}

func (h *claimant[P]) tell() {
	for _, c := range h.ledger.all() {
		h.want(c)
		if h.withdrawn(c) {
			h.withdraw(c)
		}
	}
}

// dropHad takes claims out of the ledger that had their one possession from the incarnation before.
func (h *claimant[P]) dropHad() {
	for _, c := range h.ledger.all() {
		h.ledger.mu.Lock()
		p, had := c.held, c.had()
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
