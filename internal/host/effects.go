package host

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// carryOut does what the machine asks for. Nothing here waits: answers come back as messages.
func (h *host[P]) carryOut(e machine.Effect) {
	switch e := e.(type) {
	case machine.Enter:
		h.enter(e)
	case machine.List:
		h.client.List(e.Epoch, e.Path, e.Watch, h.onListed(e.Ask))
	case machine.Read:
		h.client.Read(e.Epoch, e.Path, e.Watch, func(s session.Seen) { h.answer(seen(e.Ask, s)) })
	case machine.Transact:
		h.transact(e)
	case machine.Downgrade:
		h.downgrade(e)
	case machine.Unwatch:
		h.client.Unwatch(e.Epoch, e.Path)
	case machine.Remove:
		h.leave(e.Path)
		h.client.Remove(e.Epoch, e.Path, func(err error) {
			if err == nil {
				h.answer(machine.Removed{Epoch: e.Epoch, Path: e.Path})
			}
		})
	case machine.Record:
		h.writeRecord(e)
	case machine.Release:
		h.releaseWithRecord(e)
	case machine.Grant:
		h.grant(e)
	case machine.End:
		h.endByMachine(e)
	case machine.Revoked:
		if c := h.ledger.find(e.Claim); c != nil && c.held != nil {
			c.held.revoked.Close()
		}
	case machine.Freed:
		h.free(e.Claim)
	case machine.Settle:
		h.settle(e)
	case machine.Wake:
		h.wake(e)
	case machine.Publish:
		h.publish(e.Standing)
	}
}

func (h *host[P]) enter(e machine.Enter) {
	h.replacing = replacement{e.Epoch, e.Replace}
	if h.cfg.Form == znode.Alone {
		h.enterSingle(e)
		return
	}
	h.prepare(e)
}

func (h *host[P]) enterList(e machine.Enter) {
	j := session.Join{Parent: h.cfg.Path, Name: h.cfg.Name, Form: h.cfg.Form, Data: h.cfg.Data, Replace: e.Replace}
	h.client.JoinList(e.Epoch, j, func(a session.Joined) {
		h.answer(machine.Entered{Epoch: a.Epoch, Path: a.Path, Czxid: a.Stat.Czxid, Owner: a.Stat.EphemeralOwner, Err: a.Err})
	}, h.onListed(e.Ask))
}

// enterSingle creates the one znode that there can be. While there is one, somebody is ahead.
func (h *host[P]) enterSingle(e machine.Enter) {
	parent, name := znode.Split(h.cfg.Path)
	h.client.Join(e.Epoch, session.Join{Parent: parent, Name: name, Form: znode.Alone, Data: h.cfg.Data}, func(a session.Joined) {
		ev := machine.Entered{Epoch: a.Epoch, Path: a.Path, Czxid: a.Stat.Czxid, Owner: a.Stat.EphemeralOwner, Err: a.Err}
		if errors.Is(ev.Err, session.ErrNodeExists) {
			ev.Err = machine.ErrHeld
		}
		h.answer(ev)
	})
}

func (h *host[P]) onListed(ask uint64) func(session.Listed) {
	return func(a session.Listed) {
		h.answer(machine.Listed{Epoch: a.Epoch, Ask: ask, Path: h.cfg.Path, Names: a.Names, Code: code(a.Err), Err: a.Err})
	}
}

func seen(ask uint64, a session.Seen) machine.Seen {
	return machine.Seen{
		Epoch: a.Epoch, Path: a.Path, Ask: ask, Exists: a.Exists, Data: a.Data,
		Stat: machine.Stat{Version: a.Stat.Version, Czxid: a.Stat.Czxid, Owner: a.Stat.EphemeralOwner}, Code: code(a.Err), Err: a.Err,
	}
}

// answer sends a result to the actor, for the incarnation that asked. It is called from the
// session's goroutines. An epoch that ended is no answer: EpochEnded says so.
func (h *host[P]) answer(ev machine.Event) {
	if errors.Is(failure(ev), session.ErrExpired) || errors.Is(failure(ev), session.ErrClosed) {
		return
	}
	h.ref.Tell(answered{h.self.Incarnation(), ev})
}

func failure(ev machine.Event) error {
	switch ev := ev.(type) {
	case machine.Entered:
		return ev.Err
	case machine.Listed:
		return ev.Err
	case machine.Seen:
		return ev.Err
	case machine.Recorded:
		return ev.Err
	case machine.Downgraded:
		return ev.Err
	case machine.Transacted:
		return ev.Err
	}
	return nil
}

// leave notes that a znode is being deleted.
func (h *host[P]) leave(path string) {
	if h.leaving == nil {
		h.leaving = make(map[string]struct{})
	}
	h.leaving[path] = struct{}{}
}

func (h *host[P]) publish(s machine.Standing) {
	h.phase = s.Phase
	h.ledger.mu.Lock()
	epoch := h.ledger.view.epoch
	h.ledger.mu.Unlock()
	h.client.StandBy(epoch, h.near(s))
	h.cfg.Publish(s)
}

// near: a grant may come of this at once. That is so for whoever is next in line, and while it is
// looked up who is, since somebody has just gone. Where the grant comes of a create, that is proof
// enough.
func (h *host[P]) near(s machine.Standing) bool {
	return s.Phase == machine.Determining || s.Phase == machine.Waiting && s.Ahead <= 1 && h.cfg.Form != znode.Alone
}

// grant turns a place at the head into a possession, and gives it to the claim's caller or offers
// it to whoever receives.
func (h *host[P]) grant(e machine.Grant) {
	c := h.ledger.find(e.Claim)
	if c == nil {
		h.step(machine.Deferred{Claim: e.Claim}) // its withdrawal is on its way
		return
	}
	if before, downgrading := h.ledger.downgrading(c); downgrading {
		h.goOn(c, before, e)
		return
	}
	p, err := h.possession(c, e)
	if err != nil { // not trusted at this moment; or the epoch is over, of which word is on its way
		h.step(machine.Deferred{Claim: e.Claim})
		return
	}
	h.deliver(c, p)
}

// possession makes one that nobody has yet.
func (h *host[P]) possession(c *claim[P], e machine.Grant) (*Possession, error) {
	p := &Possession{
		claim: e.Claim, session: h.ledger.view.session, revoked: notify.NewLatch(), freed: notify.NewLatch(),
		asked: c.asked, since: time.Now(), line: h.cfg.Session.Path(h.cfg.Path), offered: !c.once,
	}
	hold, err := h.client.Hold(e.Epoch, e.Path, e.Token, func(cause error) {
		p.drop()
		if !isReleased(cause) {
			h.recall(p)
			h.ref.Tell(lost{p})
		}
	})
	if err != nil {
		return nil, err
	}
	p.Hold = hold
	p.release = func(word message) {
		if h.client.End(hold, session.ErrReleased) {
			h.recall(p)
			h.ref.Tell(word)
		}
	}
	return p, nil
}

func (h *host[P]) deliver(c *claim[P], p *Possession) {
	h.keep(p)
	won := h.cfg.Wrap(p)
	h.ledger.mu.Lock()
	c.held = p
	h.ledger.spend(p)
	wanted := !c.withdrawn
	if wanted && !c.once {
		p.offer = h.won.Offer(won, func() { p.received.Store(true) })
	}
	h.ledger.mu.Unlock()
	if wanted && c.once {
		wanted = c.reply(outcome[P]{won: won})
	}
	switch {
	case !wanted:
		h.client.End(p.Hold, session.ErrReleased) // Withdrawn is on its way and frees the znode
	case p.Err() != nil:
		h.recall(p) // it ended before there was an offer to take back
	}
}

// endByMachine: the machine saw the own znode go, or can't see it.
func (h *host[P]) endByMachine(e machine.End) {
	c := h.ledger.find(e.Claim)
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
	h.client.End(p.Hold, cause)
	h.ledger.failDowngrade(p, cause)
	h.recall(p)
	if e.Cause != machine.EndUnwatched { // else Left says when
		h.gone(p.Path())
	}
	if c.once {
		h.ledger.remove(c)
		c.settled.Close()
	}
}

// gone notes that a znode of which a possession came is deleted.
func (h *host[P]) gone(path string) {
	h.ledger.mu.Lock()
	p := h.ledger.spent[path]
	delete(h.ledger.spent, path)
	h.ledger.mu.Unlock()
	if p != nil {
		p.freed.Close()
	}
}

func (h *host[P]) free(id machine.Claim) {
	c := h.ledger.find(id)
	if c == nil || c.held == nil {
		return
	}
	p := c.held
	h.ledger.failDowngrade(p, session.ErrReleased)
	h.setHeld(c, nil)
	h.gone(p.Path())
	if c.once {
		h.ledger.remove(c)
		c.settled.Close()
	}
	h.stopIfSettled()
}

func (h *host[P]) settle(e machine.Settle) {
	c := h.ledger.find(e.Claim)
	if c == nil {
		return
	}
	h.ledger.remove(c)
	if c.held != nil {
		h.ledger.failDowngrade(c.held, session.ErrReleased)
		h.gone(c.held.Path())
		h.setHeld(c, nil)
	}
	c.reply(outcome[P]{err: e.Err})
	c.settled.Close()
	if !c.once && e.Err != nil {
		h.fail(e.Err)
	}
	h.stopIfSettled()
}

// wake asks for another turn after a pause.
func (h *host[P]) wake(e machine.Wake) {
	const first, most = 20 * time.Millisecond, 5 * time.Second
	pause := time.Duration(e.After) * time.Millisecond
	if e.After == 0 {
		pause = min(first<<min(e.Try, 10), most)
		pause = pause/2 + rand.N(pause/2)
	}
	if h.timers == nil {
		h.timers = make(map[uint64]*time.Timer)
	}
	h.timers[e.Ask] = time.AfterFunc(pause, func() { h.answer(machine.Woke{Ask: e.Ask}) })
}
