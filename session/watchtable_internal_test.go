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

// stage is the session's actor with a server that exists on paper: what it is asked, and what it says, wait to be delivered in whatever order.
type stage struct {
	*testing.T
	*steward
	seed uint64
	rng  *rand.Rand

	requests []request         // on the wire, in order
	answers  []heard           // overtaking one another and the events
	events   []link.Fired      // in order
	armed    map[watchKey]bool // at the server
	exists   map[string]bool   // at the server
	changes  map[watchKey]int  // at the server, counted
	actors   []*audience
	wire     []string // events in the server's order
}

type request struct {
	ask   *ask
	watch bool
}

// audience is one seat, with what it knows.
type audience struct {
	*Seat
	stage    *stage
	seen     map[watchKey]int  // how many changes the newest answered read saw
	answered map[watchKey]bool // whether there was an answer since it was told last
	credit   map[string]int    // by path: answers that armed something, less events
	pending  map[watchKey]int
	told     []string
}

func newStage(t *testing.T, seed uint64) *stage {
	s := &Session{log: slog.New(slog.DiscardHandler), cfg: config{}}
	g := &stage{
		T: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), armed: map[watchKey]bool{},
		exists: map[string]bool{"/a": true, "/b": true}, changes: map[watchKey]int{},
	}
	g.steward = &steward{Session: s, table: newWatchTable(), epoch: newEpoch(1)}
	g.steward.send = func(a *ask, watch bool) { g.requests = append(g.requests, request{a, watch}) }
	for range 3 {
		a := &audience{stage: g, seen: map[watchKey]int{}, answered: map[watchKey]bool{}, credit: map[string]int{}, pending: map[watchKey]int{}}
		a.Seat = &Seat{session: s, told: 1, notice: a.hear}
		g.actors = append(g.actors, a)
	}
	return g
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
	key := r.ask.key
	armed := g.exists[key.path] || r.ask.birth
	if r.watch && armed {
		g.armed[key] = true
	}
	a := g.audience(r.ask.seat)
	saw := g.changes[key]
	g.answers = append(g.answers, heard{ask: r.ask, armed: armed, answer: func() {
		a.pending[key]--
		a.seen[key], a.answered[key] = saw, armed
		if armed {
			a.credit[key.path]++
		}
	}})
}

func (g *stage) audience(t *Seat) *audience {
	return g.actors[slices.IndexFunc(g.actors, func(a *audience) bool { return a.Seat == t })]
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
	g.onHeard(m)
}

// hearEvent delivers the next event.
func (g *stage) hearEvent() {
	if len(g.events) == 0 {
		return
	}
	ev := g.events[0]
	g.events = g.events[1:]
	g.onFired(ev)
}

// lose drops the connection: requests that were not served are lost, and a part of the answers with them.
func (g *stage) lose() {
	for _, r := range g.requests {
		g.answers = append(g.answers, heard{ask: r.ask})
	}
	g.requests = nil
	for i := range g.answers {
		if g.answers[i].answer != nil && g.rng.IntN(2) == 0 {
			// What armed it is not armed again on the next connection: whoever lost the answer asks again.
			g.answers[i] = heard{ask: g.answers[i].ask}
		}
	}
}

// check looks at what must hold when everything has been delivered.
func (g *stage) check() {
	for len(g.requests)+len(g.answers)+len(g.events) > 0 {
		g.serve()
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
		require.True(g, g.armed[key], "seed %d: %v is believed to be armed", g.seed, key)
	}
}

// Events overtake answers, answers one another, connections are lost: nobody is told too early, nobody misses a change, and the order is ZooKeeper's.
func TestWatchTableUnderAnySchedule(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20_000) {
		g := newStage(t, seed)
		moves := []func(){g.ask, g.ask, g.serve, g.serve, g.change, g.hearAnswer, g.hearAnswer, g.hearEvent, g.hearEvent, g.ask, g.serve, g.lose}
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
