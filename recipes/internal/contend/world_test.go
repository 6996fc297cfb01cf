package contend_test

// The world of schedules: a ZooKeeper in memory with one line in it.

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

func TestMain(m *testing.M) { tier.Main(m) }

const (
	parent   = "/line"
	children = parent + "/*" // stands for who is in it, where a watch is on that
)

// world is an in-memory ZooKeeper with one line in it, and the instances that stand there.
type world struct {
	recipetest.Chance

	table    *recipetest.Table
	taken    recipetest.Steps // by all instances; nil: not told
	rule     rule             // of all instances
	limit    node             // the parent: its data are a semaphore's limit
	pzxid    int64
	nodes    []*node
	deaths   []*node
	zxid     int64
	created  int64 // children so far
	from     int64 // the first sequence number
	sticks   bool  // sequence numbers stick at the greatest, as in ZooKeeper 3.8; otherwise they wrap around
	early    bool  // a watch counts as unarmed when it fires, not when its event is delivered
	sessions []*session
	ids      int64 // sessions at the server: instances may share one
	entries  map[string]*entry
	all      []*instance
	record   *record        // of who holds, where a delay is kept
	erased   map[int64]bool // tokens that somebody else took out of it

	lastToken int64
	calm      bool // no faults any more: the second phase
	brief     bool // what is held is released before any pause is over
	asked     int  // requests answered
	lists     int  // listings among them
	joins     int  // contenders made
	leaves    int  // contenders deleted by their own
	unaware   int  // waiters that do not know that somebody deleted their znode
	fired     int  // watches fired
}

// node is a child of the parent.
type node struct {
	path    string
	order   int64 // place in line: Czxid, but for what a downgrade leaves
	czxid   int64
	mzxid   int64
	version int32
	owner   int64
	by      *instance // that created it
	data    []byte
	foreign bool // no contender at all
	granted bool // a semaphore's: it was marked
	fitted  bool // and fitted under a limit that was changed since
	dzxid   int64
	byAdmin bool
}

func newWorld(c recipetest.Chance, table *recipetest.Table, taken recipetest.Steps) *world {
	return &world{Chance: c, table: table, taken: taken, limit: node{path: parent}, erased: map[int64]bool{}, entries: map[string]*entry{}}
}

// granted is the znode that a grant is of, nil if it is gone; a single one's place may be taken.
func (w *world) granted(e machine.Grant) *node {
	n := w.find(e.Path)
	if n != nil && w.rule == single && n.czxid != e.Token {
		return nil
	}
	return n
}

// stands tells whether that very znode is still there.
func (w *world) stands(n *node) bool { return n != nil && slices.Contains(w.nodes, n) }

// chance is true once in n times, never in the second phase.
func (w *world) chance(n int) bool { return !w.calm && w.Pick(n) == n-1 }

// sequence is the number of the next sequential child, as ZooKeeper counts.
func (w *world) sequence() int32 {
	n := w.from + w.created
	w.created++
	if w.sticks {
		n = min(n, math.MaxInt32)
	}
	return int32(n)
}

func (w *world) find(path string) *node {
	for _, n := range w.nodes {
		if n.path == path {
			return n
		}
	}
	return nil
}

// create makes a contender; with a name without a marker, something foreign.
func (w *world) create(owner int64, name string, data []byte) *node {
	w.zxid++
	guid := znode.GUID(fmt.Sprintf("%08x-0000-4000-8000-%012x", w.zxid, owner))
	full := fmt.Sprintf("%s%010d", znode.Protect(guid, name), w.sequence())
	return w.add(&node{path: parent + "/" + full, order: w.zxid, owner: owner, data: data})
}

func (w *world) add(n *node) *node {
	n.czxid, n.mzxid = w.zxid, w.zxid
	w.nodes = append(w.nodes, n)
	w.pzxid = w.zxid
	w.crowd()
	return n
}

// remove deletes a node and fires its watches.
func (w *world) remove(n *node, byAdmin bool) {
	i := slices.Index(w.nodes, n)
	w.nodes = slices.Delete(w.nodes, i, i+1)
	w.zxid++
	n.dzxid, n.byAdmin = w.zxid, byAdmin
	w.deaths = append(w.deaths, n)
	w.pzxid = w.zxid
	w.changed(n.path, true)
	w.crowd()
}

// set writes data.
func (w *world) set(n *node, data []byte) {
	w.zxid++
	n.mzxid, n.data = w.zxid, data
	n.version++
	w.changed(n.path, false)
}

// crowd fires the watches on who comes and goes.
func (w *world) crowd() {
	for _, s := range w.sessions {
		if s.changed(children, false) {
			w.fired++
		}
	}
}

// changed fires the watches on a path.
func (w *world) changed(path string, deleted bool) {
	for _, s := range w.sessions {
		if s.changed(path, deleted) {
			w.fired++
		}
	}
}

// expire ends a session at the server.
func (w *world) expire(s *session) {
	for _, o := range w.sessions {
		if o.id == s.id {
			o.dead, o.arms = true, nil
		}
	}
	for _, n := range slices.Clone(w.nodes) {
		if n.owner == s.id {
			w.remove(n, false)
		}
	}
}

// rival: somebody else, or this instance in another session, stood in line at some time since.
func (w *world) rival(i *instance, since int64) bool {
	other := func(n *node) bool { return (n.owner != i.as || n.by != i) && !n.foreign }
	return slices.ContainsFunc(w.nodes, other) ||
		slices.ContainsFunc(w.deaths, func(n *node) bool { return other(n) && n.dzxid > since })
}
