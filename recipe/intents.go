package recipe

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

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

// saw records by an answer for the machine which of the possessions' znodes are gone.
func (g *grants) saw(ev machine.Event) {
	switch ev := ev.(type) {
	case machine.Removed:
		delete(g.leaving, ev.Path)
		g.gone(ev.Path)
	case machine.Entered:
		if ev.Err == nil {
			g.host.Emit(session.Event{Kind: session.EventQueued, Token: ev.Czxid, Epoch: ev.Epoch, SessionID: ev.Owner})
		}
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
	if in := g.ledger.find(m.claim); in != nil {
		g.want(in)
	}
}

// want tells the machine of an intent, once: a recovery may have found it in the ledger before the
// message came.
func (g *grants) want(in *intent) {
	if in.toldWanted == g.actor.self.Incarnation() {
		return
	}
	in.toldWanted = g.actor.self.Incarnation()
	g.actor.step(machine.Wanted{Claim: in.id, Once: in.once, Try: in.try})
}

func (g *grants) onWithdrawn(m withdrawn) {
	if in := g.ledger.find(m.claim); in != nil {
		g.withdraw(in)
	}
	g.settle()
}

// withdraw tells the machine that an intent is no longer wanted, once: a recovery may have told it
// before the message came.
func (g *grants) withdraw(in *intent) {
	if in.toldWithdrawn == g.actor.self.Incarnation() {
		return
	}
	in.toldWithdrawn = g.actor.self.Incarnation()
	g.actor.step(machine.Withdrawn{Claim: in.id, Lost: in.held != nil && in.held.lost(in.held.Err())})
}

func (g *grants) onReleased(p *Possession) {
	if in := g.holder(p); in != nil {
		g.actor.step(machine.Released{Claim: in.id})
		return
	}
	g.unheld(p)
}

func (g *grants) onLost(p *Possession) {
	in := g.holder(p)
	if in == nil {
		g.unheld(p)
		return
	}
	g.holdEnded(in)
	g.settle()
}

// unheld handles the end of a possession that no intent has any more: its znode was deleted, or its
// epoch ended, before the message came.
func (g *grants) unheld(p *Possession) {
	if !g.ledger.hasZnode(p) {
		p.freed.Close()
	}
}

// holdEnded ends an intent's possession that was lost. The znode exists: the machine deletes it.
func (g *grants) holdEnded(in *intent) {
	if g.withdrawn(in) {
		return // the message about the withdrawal follows: it tells how the possession has ended, and settles the intent
	}
	g.ledger.release(in)
	g.endCall(in)
	g.actor.step(machine.HoldEnded{Claim: in.id})
}

// holder returns the intent that has this possession now; nil if none has.
func (g *grants) holder(p *Possession) *intent {
	in := g.ledger.find(p.claim)
	g.ledger.mu.Lock()
	defer g.ledger.mu.Unlock()
	if in == nil || in.held != p {
		return nil
	}
	return in
}

func (g *grants) withdrawn(in *intent) bool {
	g.ledger.mu.Lock()
	defer g.ledger.mu.Unlock()
	return in.withdrawn
}

// forget confirms the release of every possession: all znodes are gone with their epoch.
func (g *grants) forget() {
	clear(g.leaving)
	for _, p := range g.ledger.takeGranted() {
		p.freed.Close()
	}
	g.settle()
}

// settle ends an instance that is closing, when nothing of it is left.
func (g *grants) settle() {
	g.ledger.mu.Lock()
	nothingLeft := len(g.ledger.intents) == 0 && len(g.ledger.granted) == 0 && len(g.leaving) == 0
	closing := g.ledger.closing
	g.ledger.mu.Unlock()
	if closing && nothingLeft {
		g.actor.carryOut(machine.Stop{})
	}
}

// postpone handles a message that comes during a recovery; false if the actor has to keep it.
func (g *grants) postpone(m message) bool {
	switch m := m.(type) {
	case wanted:
		return true // it is in the ledger: tellClaims tells the machine
	case withdrawn:
		g.dropUntold(m.claim)
		return true
	}
	return false
}

// dropUntold settles an intent that was withdrawn before any machine knew of it: it has no znode.
// The withdrawal of others is in the ledger, and the machine is told of it after the recovery. So
// the ledger does not grow during a long recovery, however many calls give up meanwhile.
func (g *grants) dropUntold(id machine.Claim) {
	if in := g.ledger.find(id); in != nil && in.toldWanted == 0 {
		g.ledger.remove(in)
		in.settled.Close()
	}
}

// reset forgets the znodes and possessions of the crashed incarnation: all of them are gone. The
// intent of a call that got its possession is settled; the others are for the new machine.
func (g *grants) reset() {
	g.forget()
	g.publish(machine.Standing{}) // as a machine begins: it tells only changes from here on
	for _, in := range g.ledger.all() {
		if in.held == nil {
			continue
		}
		in.held.freed.Close()
		if g.ledger.release(in); in.caller.answered.Load() {
			g.endCall(in)
		}
	}
}

// tellClaims tells the new machine of every intent in the ledger.
func (g *grants) tellClaims() {
	for _, in := range g.ledger.all() {
		g.want(in)
		if g.withdrawn(in) {
			g.withdraw(in)
		}
	}
}

func isReleased(err error) bool { return errors.Is(err, session.ErrReleased) }
