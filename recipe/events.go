package recipe

import (
	"errors"
	"time"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// Emit tells the session's events of one: see session.WithEvents. Fields that are zero stay so; the
// time is the present one.
func Emit(s *session.Session, ev session.Event) {
	seam.Emit.(func(*session.Session, session.Event))(s, ev)
}

// Emit tells of an event of the instance, whose recipe, path and name it adds.
func (h *Host) Emit(ev session.Event) {
	ev.Recipe, ev.Path = h.kind, h.at
	if ev.Name == "" {
		ev.Name = h.cfg.Name
	}
	Emit(h.cfg.Session, ev)
}

// state is an instance's state as events and snapshots tell it.
type state struct {
	name  string
	since time.Time
}

// SetState tells of a new state of the instance, if it is another than before.
func (h *Host) SetState(to string) {
	h.mu.Lock()
	from, changed := h.state.name, h.state.name != to
	if changed {
		h.state = state{to, time.Now()}
	}
	h.mu.Unlock()
	if changed {
		h.Emit(session.Event{Kind: session.EventState, From: from, To: to})
	}
}

// endState is the last state: by Close or with the session, or because of a failure.
func (h *Host) endState(err error) {
	to := "failed"
	if errors.Is(err, session.ErrClosed) {
		to = "stopped"
	}
	h.SetState(to)
}

// describe adds the instance to a snapshot.
func (h *Host) describe(snap *session.Snapshot) {
	h.mu.Lock()
	is := session.RecipeState{Recipe: h.kind, Path: h.at, Name: h.cfg.Name, State: h.state.name, Since: h.state.since}
	h.mu.Unlock()
	snap.Recipes = append(snap.Recipes, is)
	if h.core != nil {
		h.core.describe(snap, is)
	}
	if h.cfg.Describe != nil {
		h.cfg.Describe(snap)
	}
}

// describe adds what the instance holds and waits for to a snapshot.
func (c *core) describe(snap *session.Snapshot, is session.RecipeState) {
	look := lookAt(&c.cfg)
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	for _, in := range c.ledger.intents {
		switch p := in.held; {
		case p != nil && p.Err() == nil:
			snap.Held = append(snap.Held, session.Held{
				Recipe: is.Recipe, Path: is.Path, Name: is.Name, Token: p.Token(), Since: p.since, Asked: p.asked.At.String(),
				Unreceived: !p.received.Load() && !(p.offer != nil && p.offer.Received()),
			})
		case !in.withdrawn:
			snap.Waiting = append(snap.Waiting, session.Waiting{
				Recipe: is.Recipe, Path: is.Path, Name: is.Name, Since: in.since, State: is.State, Ahead: int(c.ahead.Load()), Asked: in.asked.At.String(),
				Holder: look.By, Behind: look.Waiting, Looked: look.seen,
			})
		}
	}
}

// lookAt is what the last read of the holder found, while a wait lasts that shares it.
func lookAt(cfg *ClaimsConfig) Holder {
	waits.mu.Lock()
	defer waits.mu.Unlock()
	if reads := waits.reads[waitedFor{cfg.Session, cfg.Path}]; reads != nil {
		return reads.found
	}
	return Holder{}
}

// tellGranted tells that the possession was given, once: the first of its end and its grant tells
// it, so that the events are in order.
func (p *Possession) tellGranted(h *Host) {
	p.told.Do(func() {
		h.Emit(session.Event{Kind: session.EventGranted, Token: p.token, SessionID: p.session, Epoch: p.epoch, Took: p.waited})
	})
}

// tellEnded tells how the possession has ended. Its Done has closed.
func (p *Possession) tellEnded(h *Host, cause error) {
	p.tellGranted(h)
	ev := session.Event{Kind: session.EventReleased, Token: p.token, SessionID: p.session, Epoch: p.epoch, Took: time.Since(p.since)}
	if p.forfeited.Load() || !isReleased(cause) && !errors.Is(cause, errGivenUp) {
		ev.Kind, ev.Err = session.EventLost, cause
	}
	h.Emit(ev)
}

// word is the state of the recipe in that phase.
func (c *core) word(p machine.Phase) string {
	if p == machine.Holding && c.cfg.Holding != "" {
		return c.cfg.Holding
	}
	return p.String()
}

// revoke tells the holder that another client asks for its possession, once.
func (g *grants) revoke(p *Possession) {
	if p.revoked.Closed() {
		return
	}
	g.host.Emit(session.Event{Kind: session.EventRevokeAsked, Token: p.token, SessionID: p.session, Epoch: p.epoch})
	p.revoked.Close()
}

// tellQueued tells that the own znode exists.
func (g *grants) tellQueued(ev machine.Entered) {
	if ev.Err == nil {
		g.host.Emit(session.Event{Kind: session.EventQueued, Token: ev.Czxid, Epoch: ev.Epoch, SessionID: ev.Owner})
	}
}
