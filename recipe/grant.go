package recipe

import (
	"time"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// carryOut does what only the claims' machines ask for.
func (g *grants) carryOut(e machine.Effect) bool {
	switch e := e.(type) {
	case machine.Enter:
		g.replacing = replacement{e.Epoch, e.Replace}
		g.entrant.enter(e)
	case machine.Downgrade:
		g.downgrade(e)
	case machine.Remove:
		g.leave(e.Path)
		return false
	case machine.Record:
		g.entrant.writeRecord(e)
	case machine.Release:
		g.leave(e.Path)
		g.entrant.release(e)
	case machine.Grant:
		g.grant(e)
	case machine.End:
		g.endByMachine(e)
	case machine.Revoked:
		if c := g.ledger.find(e.Claim); c != nil && c.held != nil {
			c.held.revoked.Close()
		}
	case machine.Freed:
		g.free(e.Claim)
	case machine.Settle:
		g.onSettle(e)
	case machine.Publish:
		g.publish(e.Standing)
	default:
		return false
	}
	return true
}

// leave notes that a znode is being deleted.
func (g *grants) leave(path string) {
	if g.leaving == nil {
		g.leaving = make(map[string]struct{})
	}
	g.leaving[path] = struct{}{}
}

func (g *grants) publish(s machine.Standing) {
	g.published = s.Phase
	g.claims.readHolder(s.Phase)
	g.host.client.StandBy(g.host.now().epoch, g.imminent(s))
	g.claims.cfg.Publish(s)
}

// imminent: a grant may come of this at once. That is so for whoever is next in line, and while it
// is looked up who is, since somebody has just gone. Where the grant comes of a create, that is
// proof enough.
func (g *grants) imminent(s machine.Standing) bool {
	return s.Phase == machine.Determining || s.Phase == machine.Waiting && s.Ahead <= 1 && g.claims.cfg.Form != Alone
}

// grant turns a place at the head into a possession, and gives it to the claim's caller or offers
// it to whoever receives.
func (g *grants) grant(e machine.Grant) {
	c := g.ledger.find(e.Claim)
	if c == nil {
		g.actor.step(machine.Deferred{Claim: e.Claim}) // its withdrawal is on its way
		return
	}
	if before, downgrading := g.ledger.downgrading(c); downgrading {
		g.grantReader(c, before, e)
		return
	}
	if c.held != nil && c.held.Err() == nil {
		panic("recipe: the machine grants a claim that is held") // nobody would end the first possession
	}
	p, err := g.possession(c, e)
	if err != nil { // not trusted at this moment; or the epoch is over, of which word is on its way
		g.actor.step(machine.Deferred{Claim: e.Claim})
		return
	}
	g.deliver(c, p)
}

// possession makes one that nobody has yet. It is the claim's from the first, so that a panic at
// any later moment ends it.
func (g *grants) possession(c *claim, e machine.Grant) (*Possession, error) {
	p := &Possession{claim: e.Claim, session: g.host.now().session, asked: c.asked, since: time.Now(), line: g.claims.cfg.Session.Path(g.claims.cfg.Path), offered: !c.once}
	before := g.claims.lost.Swap(nil) // before this one can be lost
	hold, err := g.host.client.Hold(e.Epoch, e.Path, e.Token, func(cause error) {
		p.drop()
		if !isReleased(cause) {
			at := time.Now()
			g.claims.lost.CompareAndSwap(nil, &at)
			g.claims.recall(p)
			g.host.ref.Tell(lost{p})
		}
	})
	if err != nil {
		g.claims.lost.CompareAndSwap(nil, before)
		return nil, err
	}
	p.Hold = hold
	if before != nil {
		p.without = max(time.Since(*before), 1)
	}
	p.release = func(word message) {
		if g.host.client.End(hold, session.ErrReleased) {
			g.claims.recall(p)
			g.host.ref.Tell(word)
		}
	}
	g.ledger.give(c, p)
	g.keep(p)
	return p, nil
}

func (g *grants) deliver(c *claim, p *Possession) {
	face := g.claims.face(p)
	g.ledger.mu.Lock()
	wanted := !c.withdrawn
	if wanted && !c.once {
		p.offer = g.claims.offer(face, func() { p.received.Store(true) })
	}
	g.ledger.mu.Unlock()
	if wanted && c.once {
		p.received.Store(true)
		wanted = c.reply(outcome{won: p})
	}
	switch {
	case !wanted:
		g.host.client.End(p.Hold, session.ErrReleased) // Withdrawn is on its way and frees the znode
	case p.Err() != nil:
		g.claims.recall(p) // it ended before there was an offer to take back
	}
}

// endByMachine: the machine saw the own znode go, or can't see it.
func (g *grants) endByMachine(e machine.End) {
	c := g.ledger.find(e.Claim)
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
	g.clearHeld(c)
	g.host.client.End(p.Hold, cause)
	g.ledger.failDowngrade(p, cause)
	g.claims.recall(p)
	if e.Cause != machine.EndUnwatched { // else Left says when
		g.gone(p.Path())
	}
	if c.once {
		g.ledger.remove(c)
		c.settled.Close()
	}
}

// gone notes that a znode of which a possession came is deleted.
func (g *grants) gone(path string) {
	g.ledger.mu.Lock()
	p := g.ledger.granted[path]
	delete(g.ledger.granted, path)
	g.ledger.mu.Unlock()
	if p != nil {
		p.freed.Close()
	}
}

func (g *grants) free(id machine.Claim) {
	c := g.ledger.find(id)
	if c == nil || c.held == nil {
		return
	}
	p := c.held
	g.ledger.failDowngrade(p, session.ErrReleased)
	g.clearHeld(c)
	g.gone(p.Path())
	if c.once {
		g.ledger.remove(c)
		c.settled.Close()
	}
	g.settle()
}

func (g *grants) onSettle(e machine.Settle) {
	c := g.ledger.find(e.Claim)
	if c == nil {
		return
	}
	g.ledger.remove(c)
	if c.held != nil {
		g.ledger.failDowngrade(c.held, session.ErrReleased)
		g.gone(c.held.Path())
		g.clearHeld(c)
	}
	c.reply(outcome{err: e.Err})
	c.settled.Close()
	if !c.once && e.Err != nil {
		g.actor.fail(e.Err)
	}
	g.settle()
}
