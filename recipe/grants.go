package recipe

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// grants is what one incarnation of an instance's actor does beyond the others if its machine
// grants: it tells the machine of claims, and makes possessions of what the machine wins.
type grants struct {
	claims    *claims
	ledger    *ledger
	host      *Host
	actor     *actor
	entrant   entrant
	published machine.Phase
	leaving   map[string]struct{} // what is being deleted
	replacing replacement         // what the Enter under way deletes in its transaction
}

// replacement is an own znode that an Enter deletes in its transaction.
type replacement struct {
	epoch uint64
	path  string
}

func newGrants(i *claims, a *actor) *grants {
	g := &grants{claims: i, ledger: &i.ledger, host: a.host, actor: a}
	g.entrant = entrant{host: a.host, actor: a, name: i.cfg.Name, form: i.cfg.Form, data: i.cfg.Data, parent: i.cfg.Parent}
	if a.self.Incarnation() > 1 {
		g.publish(machine.Standing{Phase: machine.Offering, Stale: true}) // whatever the one before said last
	}
	return g
}

func (g *grants) receive(m message) {
	switch m := m.(type) {
	case wanted:
		g.onWanted(m)
	case withdrawn:
		g.onWithdrawn(m)
	case released:
		g.onReleased(m.possession)
	case lost:
		g.onLost(m.possession)
	case downgradeWanted:
		g.onDowngradeWanted(m.possession)
	}
}

// saw keeps the books of what exists.
func (g *grants) saw(ev machine.Event) {
	switch ev := ev.(type) {
	case machine.Removed:
		delete(g.leaving, ev.Path)
		g.gone(ev.Path)
	case machine.Entered:
		if r := g.replacing; r.epoch == ev.Epoch {
			g.replacing = replacement{}
			if ev.Err == nil && r.path != "" {
				g.gone(r.path)
			}
		}
	case machine.Downgraded:
		g.onDowngraded(ev)
	}
}

func (g *grants) onWanted(m wanted) {
	if c := g.ledger.find(m.claim); c != nil {
		g.want(c)
	}
}

// want tells the machine of a claim, once: a recovery may have found it in the ledger before the
// message came.
func (g *grants) want(c *claim) {
	if c.known == g.actor.self.Incarnation() {
		return
	}
	c.known = g.actor.self.Incarnation()
	g.actor.step(machine.Wanted{Claim: c.id, Once: c.once, Try: c.try})
}

func (g *grants) onWithdrawn(m withdrawn) {
	if c := g.ledger.find(m.claim); c != nil {
		g.withdraw(c)
	}
	g.settle()
}

// withdraw tells the machine that a claim is no longer wanted, once: a recovery may have told it
// before the message came.
func (g *grants) withdraw(c *claim) {
	if c.told == g.actor.self.Incarnation() {
		return
	}
	c.told = g.actor.self.Incarnation()
	g.actor.step(machine.Withdrawn{Claim: c.id, Lost: c.held != nil && c.held.lost()})
}

func (g *grants) onReleased(p *Possession) {
	if c := g.holder(p); c != nil {
		g.actor.step(machine.Released{Claim: c.id})
		return
	}
	g.unheld(p)
}

func (g *grants) onLost(p *Possession) {
	c := g.holder(p)
	if c == nil {
		g.unheld(p)
		return
	}
	g.holdEnded(c)
	g.settle()
}

// unheld: the possession's znode was deleted, or its epoch ended, before its end was heard of here.
func (g *grants) unheld(p *Possession) {
	if !g.ledger.stands(p) {
		p.freed.Close()
	}
}

// holdEnded: the claim's possession has ended by itself.
func (g *grants) holdEnded(c *claim) {
	if g.withdrawn(c) {
		return // word of that is on its way, tells how the possession has ended, and settles it
	}
	g.clearHeld(c)
	if c.once {
		g.ledger.remove(c)
		c.settled.Close()
	}
	g.actor.step(machine.HoldEnded{Claim: c.id})
}

// holder returns the claim that has this possession now.
func (g *grants) holder(p *Possession) *claim {
	c := g.ledger.find(p.claim)
	if c == nil {
		return nil
	}
	g.ledger.mu.Lock()
	defer g.ledger.mu.Unlock()
	if c.held != p {
		return nil
	}
	return c
}

func (g *grants) withdrawn(c *claim) bool {
	g.ledger.mu.Lock()
	defer g.ledger.mu.Unlock()
	return c.withdrawn
}

func (g *grants) clearHeld(c *claim) {
	g.ledger.mu.Lock()
	defer g.ledger.mu.Unlock()
	c.held = nil
}

func (g *grants) forget() {
	g.leaving = nil
	for _, p := range g.ledger.takeGranted() {
		p.freed.Close()
	}
	g.settle()
}

func (g *grants) settle() {
	g.ledger.mu.Lock()
	over := g.ledger.closing && len(g.ledger.claims) == 0 && len(g.ledger.granted) == 0 && len(g.leaving) == 0
	g.ledger.mu.Unlock()
	if over {
		g.actor.carryOut(machine.Stop{})
	}
}

func (g *grants) postpone(m message) bool {
	switch m := m.(type) {
	case wanted:
		return true // it is in the ledger, and the machine is told of all that is there
	case withdrawn:
		g.dropUntold(m.claim)
		return true
	}
	return false
}

// dropUntold settles a claim that was withdrawn before any machine knew of it: nothing came of it.
// The withdrawal of others is noted in the ledger, of which the machine is told when the
// recovery is done. So nothing piles up, however long that takes and whatever is tried in vain
// meanwhile.
func (g *grants) dropUntold(id machine.Claim) {
	if c := g.ledger.find(id); c != nil && c.known == 0 {
		g.ledger.remove(c)
		c.settled.Close()
	}
}

// reset forgets what was the crashed incarnation's: all of it is gone. A claim that had its one
// possession is over.
func (g *grants) reset() {
	g.forget()
	g.publish(machine.Standing{}) // as a machine begins; what it says from here on is what changes
	for _, c := range g.ledger.all() {
		g.ledger.mu.Lock()
		p, had := c.held, c.wasGranted()
		c.held = nil
		g.ledger.mu.Unlock()
		if p != nil {
			p.freed.Close()
		}
		if had {
			g.ledger.remove(c)
			c.settled.Close()
		}
	}
}

func (g *grants) tellClaims() {
	for _, c := range g.ledger.all() {
		g.want(c)
		if g.withdrawn(c) {
			g.withdraw(c)
		}
	}
}

func isReleased(err error) bool { return errors.Is(err, session.ErrReleased) }
