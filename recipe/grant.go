package recipe

import (
	"time"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// carryOut does what only the claims' machines ask for.
func (h *claimant[P]) carryOut(e machine.Effect) bool {
	switch e := e.(type) {
	case machine.Enter:
		h.replacing = replacement{e.Epoch, e.Replace}
		h.contender.enter(e)
	case machine.Downgrade:
		h.downgrade(e)
	case machine.Remove:
		h.leave(e.Path)
		return false
	case machine.Record:
		h.contender.writeRecord(e)
	case machine.Release:
		h.leave(e.Path)
		h.contender.release(e)
	case machine.Grant:
		h.grant(e)
	case machine.End:
		h.endByMachine(e)
	case machine.Revoked:
		if c := h.claims.ledger.find(e.Claim); c != nil && c.held != nil {
			c.held.revoked.Close()
		}
	case machine.Freed:
		h.free(e.Claim)
	case machine.Settle:
		h.onSettle(e)
	case machine.Publish:
		h.publish(e.Standing)
	default:
		return false
	}
	return true
}

// leave notes that a znode is being deleted.
func (h *claimant[P]) leave(path string) {
	if h.leaving == nil {
		h.leaving = make(map[string]struct{})
	}
	h.leaving[path] = struct{}{}
}

func (h *claimant[P]) publish(s machine.Standing) {
	h.published = s.Phase
	h.claims.look(s.Phase)
	h.actor.host.client.StandBy(h.actor.host.now().epoch, h.near(s))
	h.claims.cfg.Publish(s)
}

// near: a grant may come of this at once. That is so for whoever is next in line, and while it is
// looked up who is, since somebody has just gone. Where the grant comes of a create, that is proof
// enough.
func (h *claimant[P]) near(s machine.Standing) bool {
	return s.Phase == machine.Determining || s.Phase == machine.Waiting && s.Ahead <= 1 && h.claims.cfg.Form != Alone
}

// grant turns a place at the head into a possession, and gives it to the claim's caller or offers
// it to whoever receives.
func (h *claimant[P]) grant(e machine.Grant) {
	c := h.claims.ledger.find(e.Claim)
	if c == nil {
		h.actor.step(machine.Deferred{Claim: e.Claim}) // its withdrawal is on its way
		return
	}
	if before, downgrading := h.claims.ledger.downgrading(c); downgrading {
		h.grantReader(c, before, e)
		return
	}
	if c.held != nil && c.held.Err() == nil {
		panic("recipe: the machine grants a claim that is held") // nobody would end the first possession
	}
	p, err := h.possession(c, e)
	if err != nil { // not trusted at this moment; or the epoch is over, of which word is on its way
		h.actor.step(machine.Deferred{Claim: e.Claim})
		return
	}
	h.deliver(c, p)
}

// possession makes one that nobody has yet. It is the claim's from the first, so that a panic at
// any later moment ends it.
func (h *claimant[P]) possession(c *claim[P], e machine.Grant) (*Possession, error) {
	p := &Possession{claim: e.Claim, session: h.actor.host.now().session, asked: c.asked, since: time.Now(), line: h.claims.cfg.Session.Path(h.claims.cfg.Path), offered: !c.once}
	before := h.claims.lost.Swap(nil) // before this one can be lost
	hold, err := h.actor.host.client.Hold(e.Epoch, e.Path, e.Token, func(cause error) {
		p.drop()
		if !isReleased(cause) {
			at := time.Now()
			h.claims.lost.CompareAndSwap(nil, &at)
			h.claims.recall(p)
			h.actor.host.ref.Tell(lost{p})
		}
	})
	if err != nil {
		h.claims.lost.CompareAndSwap(nil, before)
		return nil, err
	}
	p.Hold = hold
	if before != nil {
		p.without = max(time.Since(*before), 1)
	}
	p.release = func(word message) {
		if h.actor.host.client.End(hold, session.ErrReleased) {
			h.claims.recall(p)
			h.actor.host.ref.Tell(word)
		}
	}
	h.claims.ledger.give(c, p)
	h.keep(p)
	return p, nil
}

func (h *claimant[P]) deliver(c *claim[P], p *Possession) {
	won := h.claims.wrap(p)
	h.claims.ledger.mu.Lock()
	wanted := !c.withdrawn
	if wanted && !c.once {
		p.offer = h.claims.won.Offer(won, func() { p.received.Store(true) })
	}
	h.claims.ledger.mu.Unlock()
	if wanted && c.once {
		p.received.Store(true)
		wanted = c.reply(outcome[P]{won: won})
	}
	switch {
	case !wanted:
		h.actor.host.client.End(p.Hold, session.ErrReleased) // Withdrawn is on its way and frees the znode
	case p.Err() != nil:
		h.claims.recall(p) // it ended before there was an offer to take back
	}
}

// endByMachine: the machine saw the own znode go, or can't see it.
func (h *claimant[P]) endByMachine(e machine.End) {
	c := h.claims.ledger.find(e.Claim)
	if c == nil || c.held == nil {
		return
	}
	p := c.held
	cause := session.ErrDeleted
	switch e.Cause {
	case machine.EndExpired:
		cause = session.ErrExpired
	case machine.EndUnwatched:
		cause = e.Err
	}
	h.setHeld(c, nil)
	h.actor.host.client.End(p.Hold, cause)
	h.claims.ledger.failDowngrade(p, cause)
	h.claims.recall(p)
	if e.Cause != machine.EndUnwatched { // else Left says when
		h.gone(p.Path())
	}
	if c.once {
		h.claims.ledger.remove(c)
		c.settled.Close()
	}
}

// gone notes that a znode of which a possession came is deleted.
func (h *claimant[P]) gone(path string) {
	h.claims.ledger.mu.Lock()
	p := h.claims.ledger.granted[path]
	delete(h.claims.ledger.granted, path)
	h.claims.ledger.mu.Unlock()
	if p != nil {
		p.freed.Close()
	}
}

func (h *claimant[P]) free(id machine.Claim) {
	c := h.claims.ledger.find(id)
	if c == nil || c.held == nil {
		return
	}
	p := c.held
	h.claims.ledger.failDowngrade(p, session.ErrReleased)
	h.setHeld(c, nil)
	h.gone(p.Path())
	if c.once {
		h.claims.ledger.remove(c)
		c.settled.Close()
	}
	h.settle()
}

func (h *claimant[P]) onSettle(e machine.Settle) {
	c := h.claims.ledger.find(e.Claim)
	if c == nil {
		return
	}
	h.claims.ledger.remove(c)
	if c.held != nil {
		h.claims.ledger.failDowngrade(c.held, session.ErrReleased)
		h.gone(c.held.Path())
		h.setHeld(c, nil)
	}
	c.reply(outcome[P]{err: e.Err})
	c.settled.Close()
	if !c.once && e.Err != nil {
		h.actor.fail(e.Err)
	}
	h.settle()
}
