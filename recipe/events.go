package recipe

import (
	"cmp"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/seam"
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

// SetState tells of a new state of the instance, if it is another than before, and not after its
// end.
func (h *Host) SetState(to string) {
	h.mu.Lock()
	defer h.mu.Unlock() // until it is told, so that states are told in order
	if from := h.state; from != to && from != stopped && from != failed {
		h.Emit(session.Event{Kind: session.EventState, From: from, To: to, Took: time.Since(h.since)})
		h.state, h.since = to, time.Now()
	}
}

// The last states: by Close or with the session, and because of a failure.
const stopped, failed = "stopped", "failed"

// describe adds the instance to a snapshot.
func (h *Host) describe(snap *session.Snapshot) {
	h.mu.Lock()
	snap.Recipes = append(snap.Recipes, session.RecipeState{Recipe: h.kind, Path: h.at, Name: h.cfg.Name, State: h.state, Since: h.since})
	h.mu.Unlock()
	if h.core != nil {
		h.core.describe(snap)
	}
	if h.cfg.Describe != nil {
		h.cfg.Describe(snap)
	}
}

// describe adds what the instance holds and waits for to a snapshot.
func (c *core) describe(snap *session.Snapshot) {
	look := Holder{}
	waits.mu.Lock()
	if reads := waits.reads[waitedFor{c.cfg.Session, c.cfg.Path}]; reads != nil {
		look = reads.found
	}
	waits.mu.Unlock()
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	for _, in := range c.ledger.intents {
		switch p := in.held; {
		case p != nil && p.Err() != nil: // over, or waiting again when its znode is gone
		case p != nil:
			snap.Held = append(snap.Held, p.tenure.Held(p.asked, p.received.Load() || p.offer != nil && p.offer.Received()))
		case !in.withdrawn:
			w := c.host.Waiting(in.asked, in.since)
			w.Ahead, w.Holder, w.Behind, w.Looked = int(c.ahead.Load()), look.By, look.Waiting, look.seen
			snap.Waiting = append(snap.Waiting, w)
		}
	}
}

// Waiting is a wait for a possession of the instance, in a snapshot.
func (h *Host) Waiting(asked Asked, since time.Time) session.Waiting {
	h.mu.Lock()
	defer h.mu.Unlock()
	return session.Waiting{Recipe: h.kind, Path: h.at, Name: h.cfg.Name, Since: since, State: h.state, Asked: asked.At.String()}
}

// Tenure tells of one possession: that it was given, and how it ended.
type Tenure struct {
	host *Host
	of   session.Event // that it was given; the others have its token
	told sync.Once     // by the first of its end and its grant, so that they are in order
}

// NewTenure returns the tenure of a possession that begins now. of is the event that tells of that;
// its Time and SessionID are filled in.
func NewTenure(h *Host, of session.Event) Tenure {
	of.Time = time.Now()
	if v := h.now(); v.epoch == of.Epoch {
		of.SessionID = v.session
	}
	return Tenure{host: h, of: of}
}

// Begin tells that the possession was given, once. Call it when [Host.Hold] has returned.
func (t *Tenure) Begin() { t.told.Do(func() { t.host.Emit(t.of) }) }

// Tell tells of something about the possession, or its end, after its beginning.
func (t *Tenure) Tell(kind session.EventKind, to string, err error) {
	t.Begin()
	ev := t.of
	ev.Kind, ev.Time, ev.Took, ev.To, ev.Err = kind, time.Time{}, time.Since(t.of.Time), to, err
	t.host.Emit(ev)
}

// Held is the possession in a snapshot.
func (t *Tenure) Held(asked Asked, received bool) session.Held {
	return session.Held{
		Recipe: t.host.kind, Path: t.host.at, Name: cmp.Or(t.of.Name, t.host.cfg.Name), Token: t.of.Token, Since: t.of.Time, Attempt: t.of.Attempt,
		Asked: asked.At.String(), Unreceived: !received,
	}
}

// End tells how the possession has ended. Call it when its Done has closed.
func (t *Tenure) End(cause error, lost bool) {
	kind := session.EventLost
	if !lost {
		kind, cause = session.EventReleased, nil
	}
	t.Tell(kind, "", cause)
}

// Tell tells of an event of the possession.
func (p *Possession) Tell(kind session.EventKind) { p.tenure.Tell(kind, "", nil) }
