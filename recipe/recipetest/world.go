package recipetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/machine"
)

var errUnknown = errors.New("the outcome is unknown")

// World is a ZooKeeper without clock or network, and the processes that use it.
type World struct {
	choose     func(n int) int
	sleepOneIn int // one in so many deliveries sleeps; 0: none
	actors     []*Actor
	story      []line

	// The server.
	tree     *tree.Tree
	zxid     int64           // of the last transaction
	now      int64           // in milliseconds; it advances to each timer that goes off
	sessions int64           // how many there have been
	barred   map[string]bool // by path: see Bar
}

// watch is a watch of an actor: on a znode's data, or on its children.
type watch struct {
	path     string
	children bool
}

// NewWorld makes an empty world. choose picks one of n things, 0 to n-1: with rapid,
// rapid.IntRange(0, n-1).Draw.
func NewWorld(choose func(n int) int) *World {
	return &World{choose: choose, tree: tree.New(), now: 1_000_000} // any instant but 0
}

// Sleep lets one in so many deliveries sleep: these answers and events are mostly passed over until
// nothing else can happen, so that much may happen in between.
func (w *World) Sleep(oneIn int) { w.sleepOneIn = oneIn }

// Add starts a process, connected and trusted.
func (w *World) Add(p Player) *Actor {
	a := &Actor{Player: p, world: w, machine: p.Machine(), timers: make(map[uint64]int64)}
	w.actors = append(w.actors, a)
	a.begin()
	return a
}

// Step lets one thing happen; false if nothing can.
func (w *World) Step() bool { return w.step(true) }

// Settle lets things happen, timers last, until nothing can, or most of them have: false then.
func (w *World) Settle(most int) bool {
	for range most {
		if !w.step(false) && !w.ring() {
			return true
		}
	}
	return false
}

const wakes = 40 // one in so many deliveries that sleep may be made in a step all the same

func (w *World) step(timers bool) bool {
	var can, asleep []func()
	for _, a := range w.actors {
		if a.up && a.sessionLives { // a killed process too: see KillMidway
			for _, r := range a.requests {
				can = append(can, func() { w.carryOut(a, r) })
			}
		}
		for _, d := range a.inbox {
			switch {
			case !a.deliverable(d):
			case d.sleeps && w.choose(wakes) > 0:
				asleep = append(asleep, func() { a.deliver(d) })
			default:
				can = append(can, func() { a.deliver(d) })
			}
		}
	}
	if timers && slices.ContainsFunc(w.actors, func(a *Actor) bool { return !a.killed && len(a.timers) > 0 }) {
		can = append(can, func() { w.ring() })
	}
	if len(can) == 0 {
		can = asleep // nothing else can happen
	}
	if len(can) == 0 {
		return false
	}
	can[w.choose(len(can))]()
	return true
}

// deliverable tells whether a delivery may be made now. The answer to a lost write comes only over
// a new connection.
func (a *Actor) deliverable(d *delivery) bool {
	if slices.ContainsFunc(d.after, func(o *delivery) bool { return !o.done }) {
		return false
	}
	t, ok := d.event.(machine.Transacted)
	return !ok || t.Code != machine.Unknown || a.up
}

// ring lets the first timer go off, and advances the clock to it; false if there is none.
func (w *World) ring() bool {
	var first *Actor
	var ask uint64
	for _, a := range w.actors {
		for _, k := range slices.Sorted(maps.Keys(a.timers)) {
			if !a.killed && (first == nil || a.timers[k] < first.timers[ask]) {
				first, ask = a, k
			}
		}
	}
	if first == nil {
		return false
	}
	w.now = max(w.now, first.timers[ask])
	delete(first.timers, ask)
	first.step(machine.Woke{Ask: ask})
	return true
}

// Bury lets the sessions of the dead expire.
func (w *World) Bury() {
	for _, a := range w.actors {
		if a.killed && a.sessionLives {
			w.closeSession(a)
			a.requests = nil
		}
	}
}

// Heal reconnects all living processes and makes them trusted.
func (w *World) Heal() {
	for _, a := range w.actors {
		a.Reconnect()
		a.Entrust()
	}
}

// Actors are all processes, the dead among them.
func (w *World) Actors() []*Actor { return slices.Clone(w.actors) }

// Now is the world's clock, in milliseconds.
func (w *World) Now() int64 { return w.now }

// Zxid is the number of the last transaction: while it does not change, no znode does.
func (w *World) Zxid() int64 { return w.zxid }

// Exists tells whether a znode exists.
func (w *World) Exists(path string) bool { return w.tree.Get(path) != nil }

// Data are the data of a znode; nil if it does not exist.
func (w *World) Data(path string) []byte {
	n := w.tree.Get(path)
	if n == nil {
		return nil
	}
	return n.Data()
}

// Children are the names below a znode, sorted.
func (w *World) Children(path string) []string {
	n := w.tree.Get(path)
	if n == nil {
		return nil
	}
	var names []string
	n.Children(func(c *tree.Node) { names = append(names, c.Name()) })
	slices.Sort(names)
	return names
}

// Story is what has happened so far, a line each: for a failing test to print.
func (w *World) Story() string {
	lines := make([]string, len(w.story))
	for i, l := range w.story {
		lines[i] = fmt.Sprintf(l.format, l.args...)
	}
	return strings.Join(lines, "\n")
}

// line is formatted when the story is printed: most stories are not.
type line struct {
	format string
	args   []any
}

// formatted is an event or an effect that is formatted when the story is printed.
type formatted struct{ value any }

func (t formatted) String() string { return Format(t.value) }

func (w *World) log(format string, args ...any) {
	w.story = append(w.story, line{format, args})
}
