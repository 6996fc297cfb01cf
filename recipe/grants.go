package recipe

import (
	"time"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// grants is the part of one incarnation of the actor that makes possessions, for a machine that
// grants: it tells the machine of the intents, and makes possessions of the machine's grants.
type grants struct {
	core      *core
	ledger    *ledger
	host      *Host
	actor     *actor
	published machine.Phase
	leaving   map[string]struct{} // paths of the znodes that are being deleted
	replacing replacement
}

// A possession that was granted ends in one of these ways. Each is one function, since the order of
// events differs: the hold may have ended before, and the znode's end be known or not.
//
//	function      on              the hold         the znode                       the intent
//	endByMachine  End             ends here        is gone; unread: is deleted     of a call: settled
//	holdEnded     lost            was lost         exists; the machine deletes it  of a call: settled
//	free          Freed           was released     is gone                         of a call: settled
//	onSettle      Settle          has ended        is gone                         settled
//	reset         after a crash   ended with that  is gone                         of a call that got it: settled
//
// The standing intent goes on after all but onSettle. Host.ended is for the end of the instance.

// replacement is an own znode that the pending Enter deletes in its transaction.
type replacement struct {
	epoch uint64
	path  string
}

func newGrants(c *core, a *actor) *grants {
	g := &grants{core: c, ledger: &c.ledger, host: a.host, actor: a, leaving: make(map[string]struct{})}
	if a.self.Incarnation() > 1 {
		g.publish(machine.Standing{Phase: machine.Offering, Stale: true}) // not what the one before said last
	}
	return g
}

// carryOut carries out the effects of machines that grant; false if the actor is still to do so:
// for all others, and for Remove, which is only recorded here.
func (g *grants) carryOut(e machine.Effect) bool {
	switch e := e.(type) {
	case machine.Enter:
		g.replacing = replacement{e.Epoch, e.Replace}
		g.actor.enter(e)
	case machine.Downgrade:
		g.downgrade(e)
	case machine.Remove:
		g.leaving[e.Path] = struct{}{}
		return false
	case machine.Record:
		g.actor.writeRecord(e)
	case machine.Release:
		g.leaving[e.Path] = struct{}{}
		g.actor.release(e)
	case machine.Grant:
		g.grant(e)
	case machine.End:
		g.endByMachine(e)
	case machine.Revoked:
		if in := g.ledger.find(e.Claim); in != nil && in.held != nil {
			if p := in.held; !p.revoked.Closed() && p.Err() == nil {
				p.Tell(session.EventRevokeAsked)
			}
			in.held.revoked.Close()
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

func (g *grants) publish(s machine.Standing) {
	g.published = s.Phase
	g.core.ahead.Store(int32(s.Ahead))
	g.host.SetState(g.core.cfg.State(s))
	g.core.readHolder(s.Phase)
	g.host.client.StandBy(g.host.now().epoch, g.imminent(s))
	g.core.cfg.Publish(s)
}

// imminent tells whether the next event may lead to a grant, so that the session has to be trusted:
// for a contender that is next, and for one whose position is being determined. With the form Alone
// the reply to the create, which leads to the grant, renews the trust.
func (g *grants) imminent(s machine.Standing) bool {
	return s.Phase == machine.Determining || s.Phase == machine.Waiting && s.Ahead <= 1 && g.core.cfg.Form != Alone
}

// grant makes a possession, and gives it to the intent's caller or offers it on the channel Won.
func (g *grants) grant(e machine.Grant) {
	in := g.ledger.find(e.Claim)
	if in == nil {
		g.actor.step(machine.Deferred{Claim: e.Claim}) // it was withdrawn, and the machine will be told
		return
	}
	if before, downgrading := g.ledger.downgrading(in); downgrading {
		g.grantReader(in, before, e)
		return
	}
	if in.held != nil && in.held.Err() == nil {
		panic("recipe: the machine grants a claim that is held") // the first possession would never end
	}
	p, err := g.possession(in, &in.wait, e)
	if err != nil { // the session is not trusted now; or the epoch has ended, and EpochEnded follows
		g.actor.step(machine.Deferred{Claim: e.Claim})
		return
	}
	g.deliver(in, p)
}

// possession makes a possession that the application does not have yet. It is in the ledger at
// once, so that a panic at any later moment ends it. The time of the instance's last loss is taken
// first, since this possession may be lost before Hold returns; if there is no possession, the time
// is put back. w is the wait that it ends; nil after a downgrade.
func (g *grants) possession(in *intent, w *Wait, e machine.Grant) (*Possession, error) {
	p := &Possession{claim: e.Claim, asked: in.wait.asked, offered: !in.once}
	p.tenure = NewTenure(g.host, w, session.Event{Kind: session.EventGranted, Token: e.Token, Epoch: e.Epoch}, func() (Asked, bool) {
		g.ledger.mu.Lock()
		defer g.ledger.mu.Unlock()
		return p.asked, p.isReceived()
	})
	before := g.core.lostAt.Swap(nil)
	hold, err := g.host.HoldAs(&p.tenure, e.Path, func(cause error) {
		p.drop()
		p.tenure.End(cause, p.lost(cause))
		if !isReleased(cause) {
			g.core.lostAt.CompareAndSwap(nil, new(time.Now()))
			g.core.recall(p)
			g.host.ref.Tell(lost{p})
		}
	})
	if err != nil {
		g.core.lostAt.CompareAndSwap(nil, before)
		return nil, err
	}
	p.Hold = hold
	if before != nil {
		p.without = max(time.Since(*before), 1)
	}
	g.ledger.give(in, p)
	g.keep(p)
	return p, nil
}

// deliver gives a possession to the caller of Claim, or offers it on the channel Won. An intent
// that was withdrawn meanwhile gets none.
func (g *grants) deliver(in *intent, p *Possession) {
	face := g.core.face(p)
	g.ledger.mu.Lock()
	wanted := !in.withdrawn
	if wanted && !in.once {
		p.offer = g.core.offer(face, func() { p.received.Store(true) })
	}
	g.ledger.mu.Unlock()
	if wanted && in.once {
		p.received.Store(true)
		wanted = in.caller.reply(outcome{won: p})
	}
	switch {
	case !wanted:
		g.host.client.End(p.Hold, session.ErrReleased) // the message about the withdrawal follows, and frees the znode
	case p.Err() != nil:
		g.core.recall(p) // it ended before there was an offer to take back
	}
}

// endByMachine ends a possession whose znode is gone or cannot be read, or whose epoch has ended.
func (g *grants) endByMachine(e machine.End) {
	in := g.ledger.find(e.Claim)
	if in == nil || in.held == nil {
		return
	}
	p := in.held
	cause := session.ErrDeleted
	switch e.Cause {
	case machine.EndExpired:
		cause = session.ErrExpired
	case machine.EndUnwatched:
		cause = e.Err
	}
	g.host.client.End(p.Hold, cause)
	g.ledger.release(in)
	g.ledger.failDowngrade(p, cause)
	g.core.recall(p)
	if e.Cause != machine.EndUnwatched { // otherwise Removed tells when it is gone
		g.gone(p.Path())
	}
	g.endCall(in)
}

// endCall settles the intent of a call, which ends with its possession.
func (g *grants) endCall(in *intent) {
	if in.once {
		g.ledger.remove(in)
		in.settled.Close()
	}
}

// gone records that a znode is deleted, and confirms its possession's release, if it had one.
func (g *grants) gone(path string) {
	g.ledger.mu.Lock()
	p := g.ledger.granted[path]
	delete(g.ledger.granted, path)
	g.ledger.mu.Unlock()
	if p != nil {
		p.freed.Close()
	}
}

// free ends a released possession, whose znode is gone.
func (g *grants) free(id machine.Claim) {
	in := g.ledger.find(id)
	if in == nil || in.held == nil {
		return
	}
	p := in.held
	g.ledger.failDowngrade(p, session.ErrReleased)
	g.ledger.release(in)
	g.gone(p.Path())
	g.endCall(in)
	g.settle()
}

// onSettle ends an intent, with its possession if it has one, whose znode is gone. If the standing
// intent failed, so does the instance.
func (g *grants) onSettle(e machine.Settle) {
	in := g.ledger.find(e.Claim)
	if in == nil {
		return
	}
	g.ledger.remove(in)
	in.wait.Withdraw(e.Err)
	if in.held != nil {
		g.ledger.failDowngrade(in.held, session.ErrReleased)
		g.gone(in.held.Path())
	}
	in.caller.reply(outcome{err: e.Err})
	in.settled.Close()
	if !in.once && e.Err != nil {
		g.actor.fail(e.Err)
	}
	g.settle()
}
