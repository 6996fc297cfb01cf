package session

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session/internal/link"
)

// stage is the session's actor with a server that exists on paper: what it is asked, and what it
// says, wait to be delivered in whatever order.
type stage struct {
	*testing.T
	*steward
	seed uint64
	rng  *rand.Rand

	requests    []request         // on the wire, in order
	answers     []answer          // overtaking one another and the events
	events      []link.Fired      // in order
	armed       map[watchKey]bool // at the server
	exists      map[string]bool   // at the server
	changes     map[watchKey]int  // at the server, counted
	removals    []givenBack       // or lost
	eventsHeard int
	vacated     []*Seat // left, and the session's actor does not know yet
	actors      []*audience
	audiences   map[*Seat]*audience // also of those who left
	wire        []string            // events in the server's order
}

// answer is what came of a read.
type answer struct {
	heard
	behind int // that many events
}

// givenBack is what became of a removal.
type givenBack struct {
	unwatched
	behind int // that many events
}

type request struct {
	ask    *ask
	watch  bool
	remove *unwatched // instead
}

// audience is one seat, with what it knows.
type audience struct {
	*Seat
	stage    *stage
	seen     map[watchKey]int  // how many changes the newest answered read saw
	answered map[watchKey]bool // whether there was an answer since it was told last
	credit   map[string]int    // by path: answers that armed something, less events
	pending  map[watchKey]int
	forgone  map[watchKey]int // how often
	wanted   map[watchKey]int // that, when it asked last
	told     []string
}

func newStage(t *testing.T, seed uint64) *stage {
	s := &Session{log: slog.New(slog.DiscardHandler), cfg: config{}}
	g := &stage{
		T: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), armed: map[watchKey]bool{},
		exists: map[string]bool{"/a": true, "/b": true}, changes: map[watchKey]int{},
		audiences: map[*Seat]*audience{},
	}
	g.steward = &steward{Session: s, table: newWatchTable(), epoch: newEpoch(1)}
	g.steward.send = func(a *ask, watch bool) { g.requests = append(g.requests, request{ask: a, watch: watch}) }
	g.takeBack = func(keys []watchKey) {
		g.requests = append(g.requests, request{remove: &unwatched{epoch: g.epoch, keys: keys, ups: g.epoch.ups}})
	}
	g.stands = func(key watchKey) bool { return g.armed[key] }
	g.up = true
	for range 3 {
		g.sit()
	}
	return g
}

// sit lets somebody take a seat.
func (g *stage) sit() {
	a := &audience{
		stage: g, seen: map[watchKey]int{}, answered: map[watchKey]bool{}, credit: map[string]int{}, pending: map[watchKey]int{}, forgone: map[watchKey]int{}, wanted: map[watchKey]int{},
	}
	a.Seat = &Seat{session: g.Session, told: 1, notice: a.hear}
	g.actors = append(g.actors, a)
	g.audiences[a.Seat] = a
}

// leave lets somebody leave, for whom another comes.
func (g *stage) leave() {
	i := g.rng.IntN(len(g.actors))
	a := g.actors[i]
	a.gone = true
	g.vacated = append(g.vacated, a.Seat)
	g.sit()
	g.actors = slices.Delete(g.actors, i, i+1)
}

func (g *stage) hearLeft() {
	if len(g.vacated) > 0 {
		g.onVacated(g.vacated[0])
		g.vacated = g.vacated[1:]
	}
}

// forgo lets somebody depend on a path no more.
func (g *stage) forgo() {
	a, key := g.actors[g.rng.IntN(len(g.actors))], g.key()
	a.forgone[key]++
	a.answered[key] = false
	g.onForgone(forgone{a.Seat, g.epoch.number, key})
}

// hearRemoval delivers what became of a removal.
func (g *stage) hearRemoval() {
	if len(g.removals) == 0 {
		return
	}
	m := g.removals[0]
	g.removals = g.removals[1:]
	for g.eventsHeard < m.behind { // which its answer can't overtake, since Unwatch returns after they were told
		g.hearEvent()
	}
	g.onUnwatched(m.unwatched)
}

// hear checks what may be relied on: no event before the answer to the read that asked for it.
func (a *audience) hear(n Notice) {
	f := n.(Fired)
	for _, key := range firedKeys(link.Fired{Type: f.Type, Path: f.Path}) {
		a.answered[key] = false
	}
	a.credit[f.Path]--
	require.GreaterOrEqual(a.stage, a.credit[f.Path], 0, "seed %d: an event of %s before the answer that armed it", a.stage.seed, f.Path)
	a.told = append(a.told, f.Type.String()+f.Path)
}

func (g *stage) key() watchKey {
	return watchKey{[]string{"/a", "/b"}[g.rng.IntN(2)], watchKind(g.rng.IntN(2))}
}

// ask lets a seat read with a watch, one read of a path at a time as machines do.
func (g *stage) ask() {
	a, key := g.actors[g.rng.IntN(len(g.actors))], g.key()
	if a.pending[key] > 0 {
		return
	}
	a.pending[key]++
	a.wanted[key] = a.forgone[key]
	q := &ask{seat: a.Seat, epoch: g.epoch, key: key, birth: key.kind == watchData && g.rng.IntN(2) == 0}
	g.epoch.asks[q] = struct{}{}
	g.onAsked(q)
}

// serve lets the server carry out the next request.
func (g *stage) serve() {
	if len(g.requests) == 0 {
		return
	}
	r := g.requests[0]
	g.requests = g.requests[1:]
	if r.remove != nil {
		for _, key := range r.remove.keys {
			delete(g.armed, key)
		}
		g.removals = append(g.removals, givenBack{*r.remove, g.behind()})
		return
	}
	key := r.ask.key
	armed := g.exists[key.path] || r.ask.birth
	if r.watch && armed {
		g.armed[key] = true
	}
	a := g.audiences[r.ask.seat]
	saw := g.changes[key]
	m := heard{ask: r.ask, armed: armed, answer: func() {
		a.pending[key]--
		a.seen[key], a.answered[key] = saw, armed && a.wanted[key] == a.forgone[key]
		if armed {
			a.credit[key.path]++
		}
	}}
	g.answers = append(g.answers, answer{m, g.behind()})
}

// change lets something happen at the server.
func (g *stage) change() {
	key := g.key()
	ev := link.Fired{Path: key.path, Type: NodeDataChanged}
	switch {
	case !g.exists[key.path]:
		ev.Type, g.exists[key.path] = NodeCreated, true
	case g.rng.IntN(3) == 0:
		ev.Type, g.exists[key.path] = NodeDeleted, false
	case key.kind == watchChildren:
		ev.Type = NodeChildrenChanged
	}
	fired := false
	for _, k := range firedKeys(ev) {
		g.changes[k]++
		fired = fired || g.armed[k]
		delete(g.armed, k)
	}
	if fired {
		g.events = append(g.events, ev)
		g.wire = append(g.wire, ev.Type.String()+ev.Path)
	}
}

// hearAnswer delivers any of the answers.
func (g *stage) hearAnswer() {
	if len(g.answers) == 0 {
		return
	}
	i := g.rng.IntN(len(g.answers))
	m := g.answers[i]
	g.answers = slices.Delete(g.answers, i, i+1)
	for g.strict() && g.eventsHeard < m.behind {
		g.hearEvent()
	}
	g.onHeard(m.heard)
}

// behind is how many events there have been.
func (g *stage) behind() int { return g.eventsHeard + len(g.events) }

// strict: answers do not overtake the events before them. They never do, but it does no harm
// either, except that a watch may be left at the server.
func (g *stage) strict() bool { return g.seed%2 == 0 }

// hearEvent delivers the next event.
func (g *stage) hearEvent() {
	if len(g.events) == 0 {
		return
	}
	ev := g.events[0]
	g.events = g.events[1:]
	g.eventsHeard++
	g.onFired(ev)
}

// lose drops the connection: requests that were not served are lost, and a part of the answers with
// them.
func (g *stage) lose() {
	for _, r := range g.requests {
		if r.remove == nil {
			g.answers = append(g.answers, answer{heard{ask: r.ask}, g.behind()})
			continue
		}
		if g.rng.IntN(2) == 0 { // it was not sent yet, so that the watches are armed again
			r.remove.err = link.ErrNotSent
		} else { // its answer is lost
			for _, key := range r.remove.keys {
				delete(g.armed, key)
			}
		}
		g.removals = append(g.removals, givenBack{*r.remove, g.behind()})
	}
	g.requests = nil
	for i := range g.answers {
		if g.answers[i].answer != nil && g.rng.IntN(2) == 0 {
			// What armed it is not armed again on the next connection: whoever lost the answer asks
			// again.
			a := g.answers[i].ask
			g.answers[i] = answer{heard{ask: a}, g.behind()}
			if n := g.table.entries[a.key]; n != nil && n.arming == a {
				delete(g.armed, a.key)
			}
		}
	}
	g.epoch.ups++
	g.giveBack() // as when it is told that there is a connection again
}

// check looks at what must hold when everything has been delivered.
func (g *stage) check() {
	for len(g.requests)+len(g.answers)+len(g.events)+len(g.removals)+len(g.vacated) > 0 {
		g.serve()
		g.hearRemoval()
		g.hearLeft()
		g.hearAnswer()
		g.hearEvent()
	}
	require.Empty(g, g.epoch.asks, "seed %d: a read without an answer", g.seed)
	require.Empty(g, g.table.held, "seed %d: an event is held back for ever", g.seed)
	for i, a := range g.actors {
		for key, seen := range a.seen {
			if a.answered[key] {
				require.Equal(g, g.changes[key], seen, "seed %d: seat %d has missed a change of %v", g.seed, i, key)
			}
		}
		at := 0
		for _, told := range a.told { // in the server's order
			j := slices.Index(g.wire[at:], told)
			require.GreaterOrEqual(g, j, 0, "seed %d: seat %d was told %v of %v", g.seed, i, a.told, g.wire)
			at += j + 1
		}
	}
	for key, n := range g.table.entries {
		require.Nil(g, n.arming)
		require.NotEmpty(g, n.subs, "seed %d: nobody depends on the watch of %v", g.seed, key)
		require.True(g, g.armed[key], "seed %d: %v is believed to be armed", g.seed, key)
	}
	for key := range g.armed {
		if !g.strict() {
			break
		}
		require.Contains(g, g.table.entries, key, "seed %d: a watch of %v is left at the server", g.seed, key)
	}
	require.Empty(g, g.table.due)
	subscribed := 0
	for _, n := range g.table.entries {
		subscribed += len(n.subs)
	}
	for _, a := range g.table.seats {
		for ; a != nil; a = a.after {
			subscribed--
		}
	}
	require.Zero(g, subscribed, "seed %d: the seats' lists and the entries' differ", g.seed)
}

// Events overtake answers, answers one another, connections are lost: nobody is told too early,
// nobody misses a change, and the order is ZooKeeper's.
func TestWatchTableUnderAnySchedule(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20_000) {
		g := newStage(t, seed)
		moves := []func(){g.ask, g.ask, g.serve, g.serve, g.change, g.hearAnswer, g.hearAnswer, g.hearEvent, g.hearEvent, g.ask, g.serve, g.leave, g.hearLeft, g.forgo, g.hearRemoval, g.hearRemoval, g.lose}
		for range 60 {
			move := g.rng.IntN(len(moves))
			if move == len(moves)-1 && g.rng.IntN(4) > 0 {
				continue // connections are lost more rarely
			}
			moves[move]()
		}
		g.check()
	}
}

func TestAnEventBeforeItsAnswerIsToldRightAfterIt(t *testing.T) {
	t.Parallel()
	g := newStage(t, 1)
	a, key := g.actors[0], watchKey{"/a", watchData}
	var order []string
	a.notice = func(n Notice) { order = append(order, fmt.Sprint("fired ", n.(Fired).Path)) }
	for _, path := range []string{"/a", "/b"} {
		q := &ask{seat: a.Seat, epoch: g.epoch, key: watchKey{path, watchData}}
		g.epoch.asks[q] = struct{}{}
		g.onAsked(q)
	}
	first, second := g.requests[0].ask, g.requests[1].ask
	g.onHeard(heard{ask: second, armed: true, answer: func() { order = append(order, "answer /b") }})
	g.onFired(link.Fired{Type: NodeDeleted, Path: key.path})
	g.onFired(link.Fired{Type: NodeDeleted, Path: "/b"}) // behind that of /a in ZooKeeper's order, and so it stays
	require.Equal(t, []string{"answer /b"}, order)
	g.onHeard(heard{ask: first, armed: true, answer: func() { order = append(order, "answer /a") }})
	require.Equal(t, []string{"answer /b", "answer /a", "fired /a", "fired /b"}, order)
}
