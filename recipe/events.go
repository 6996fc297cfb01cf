package recipe

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
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

// describe adds the instance to a snapshot, with what it waits for and holds.
func (h *Host) describe(snap *session.Snapshot) {
	row := session.Waiting{Recipe: h.kind, Path: h.at, Name: h.cfg.Name}
	if h.core != nil {
		look := lookedFor(h.cfg.Session, h.cfg.Path)
		row.Ahead, row.Holder, row.Behind, row.Looked = int(h.core.ahead.Load()), look.By, look.Waiting, look.seen
	}
	h.mu.Lock()
	snap.Recipes = append(snap.Recipes, session.RecipeState{Recipe: h.kind, Path: h.at, Name: h.cfg.Name, State: h.state, Since: h.since})
	for _, w := range h.waits {
		row.State, row.Since, row.Asked = h.state, w.since, w.asked.At.String()
		snap.Waiting = append(snap.Waiting, row)
	}
	holds := maps.Clone(h.holds)
	h.mu.Unlock()
	for _, t := range slices.SortedFunc(maps.Keys(holds), func(a, b *Tenure) int { return cmp.Compare(a.of.Token, b.of.Token) }) {
		if t.by == nil || holds[t].Err() != nil {
			continue
		}
		asked, received := t.by()
		snap.Held = append(snap.Held, session.Held{
			Recipe: h.kind, Path: h.at, Name: cmp.Or(t.of.Name, h.cfg.Name), Token: t.of.Token, Since: t.of.Time, Attempt: t.of.Attempt,
			Asked: asked.At.String(), Unreceived: !received,
		})
	}
}

// Wait is a wait for a possession. With [Host.Want], EventWanted tells that it begins, and either
// EventGranted or EventWithdrawn that it is over.
type Wait struct {
	host  *Host
	asked Asked
	since time.Time
}

// Await begins a wait that snapshots show until [Wait.End]; no event tells of it.
func (h *Host) Await(w *Wait, asked Asked) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*w = Wait{h, asked, time.Now()}
	h.waits = append(h.waits, w)
}

// Want is Await, and tells of the wait. The session begins to connect, if it has not. Call it with
// the mutex of the face's intents, so that no actor knows of the intent before it is told.
func (h *Host) Want(w *Wait, asked Asked) {
	Start(h.cfg.Session) // which is told first
	h.Await(w, asked)
	h.Emit(session.Event{Kind: session.EventWanted})
}

// End ends the wait, and tells nothing; false if it was over.
func (w *Wait) End() bool {
	w.host.mu.Lock()
	defer w.host.mu.Unlock()
	at := slices.Index(w.host.waits, w)
	if at >= 0 {
		w.host.waits = slices.Delete(w.host.waits, at, at+1)
	}
	return at >= 0
}

// Withdraw tells that what was waited for is asked for no more, and why: see
// session.EventWithdrawn. After the wait it does nothing.
func (w *Wait) Withdraw(err error) {
	if w.End() {
		w.host.Emit(session.Event{Kind: session.EventWithdrawn, Took: time.Since(w.since), Err: err})
	}
}

// Tenure tells of one possession: that it was given, and how it ended.
type Tenure struct {
	host *Host
	wait *Wait                // nil: it was not waited for
	by   func() (Asked, bool) // who asked for it, and whether it was received
	of   session.Event        // that it was given; the others have its token

	told  sync.Once // by the first of its end and its grant, so that they are in order
	given bool      // otherwise the wait was withdrawn before, and nothing is told
	ended sync.Once // its end is told
	hold  *session.Hold
	alarm atomic.Pointer[time.Timer] // warns while it lasts
}

// NewTenure returns the tenure of a possession that begins now, for [Host.HoldAs]. It ends a wait,
// if it is not nil. of is the event that tells of the possession; its Time, Took and SessionID are
// filled in. by says, for a snapshot, who asked for it and whether it was received.
func NewTenure(h *Host, w *Wait, of session.Event, by func() (Asked, bool)) Tenure {
	of.Time = time.Now()
	if w != nil {
		of.Took = of.Time.Sub(w.since)
	}
	if v := h.now(); v.epoch == of.Epoch {
		of.SessionID = v.session
	}
	return Tenure{host: h, wait: w, by: by, of: of}
}

// begin tells that the possession was given, once.
func (t *Tenure) begin() {
	t.told.Do(func() {
		if t.given = t.wait == nil || t.wait.End(); t.given {
			t.host.Emit(t.of)
		}
	})
}

// Tell tells of something about the possession, or its end, after its beginning.
func (t *Tenure) Tell(kind session.EventKind, to string, err error) {
	if t.begin(); t.given {
		ev := t.of
		ev.Kind, ev.Time, ev.Took, ev.To, ev.Err = kind, time.Time{}, time.Since(t.of.Time), to, err
		t.host.Emit(ev)
	}
}

// End tells how the possession has ended, once. Call it when its Done has closed. It returns when
// that is told.
func (t *Tenure) End(cause error, lost bool) {
	kind := session.EventLost
	if !lost {
		kind, cause = session.EventReleased, nil
	}
	t.ended.Do(func() { t.Tell(kind, "", cause) })
}

// Tell tells of an event of the possession.
func (p *Possession) Tell(kind session.EventKind) { p.tenure.Tell(kind, "", nil) }
