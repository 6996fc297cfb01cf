package contend_test

// The simulation that schedules run in: a ZooKeeper in memory with one queue in it.

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
	parent   = "/queue"
	children = parent + "/*" // the key of a watch on the children
)

// simulation is an in-memory ZooKeeper with one queue in it, and the instances that contend.
type simulation struct {
	recipetest.Chance

	// What is played.
	table  *recipetest.Table
	taken  recipetest.Steps // by all instances; nil: not recorded
	rule   rule             // of all instances
	from   int64            // the first sequence number
	sticks bool             // sequence numbers stick at the greatest, as in ZooKeeper 3.8; otherwise they wrap around
	early  bool             // a watch counts as unarmed when it fires, not when its event is delivered
	calm   bool             // there are no faults, or no more
	brief  bool             // what is held is released before any pause has ended

	// The server.
	zxid     int64
	limit    node // the parent: its data are a semaphore's limit
	pzxid    int64
	nodes    []*node // the children
	deaths   []*node // those that were deleted, each with its dzxid
	created  int64   // children so far
	sessions []*session
	ids      int64          // sessions at the server: instances may share one
	record   *record        // of the holder, with a delay; nil: there is none
	erased   map[int64]bool // tokens whose record another client deleted

	// The clients.
	all       []*instance
	entries   map[string]*entry // in the record of a session, by path
	lastToken int64

	// Counts, which checks set to 0.
	asked   int // requests answered
	lists   int // listings among them
	joins   int // contenders made
	leaves  int // contenders deleted by their own
	unaware int // waiters that do not know that their znode was deleted
	fired   int // watches fired
}

// node is a child of the parent.
type node struct {
	path    string
	order   int64 // position in the queue: the Czxid, except after a downgrade
	czxid   int64
	mzxid   int64
	version int32
	owner   int64
	by      *instance // that created it; nil: another client
	data    []byte
	foreign bool // no contender at all
	granted bool // a semaphore's: it was marked
	fitted  bool // a semaphore's: it fitted under a limit that was changed since

	dzxid   int64 // of its deletion
	byAdmin bool  // another client deleted it
}

func newSimulation(c recipetest.Chance, table *recipetest.Table, taken recipetest.Steps) *simulation {
	return &simulation{Chance: c, table: table, taken: taken, limit: node{path: parent}, erased: map[int64]bool{}, entries: map[string]*entry{}}
}

// granted is the znode of a grant; nil if it is gone. A single one may have a successor at its
// path.
func (sim *simulation) granted(e machine.Grant) *node {
	n := sim.find(e.Path)
	if n != nil && sim.rule == single && n.czxid != e.Token {
		return nil
	}
	return n
}

// exists tells whether that very znode exists still.
func (sim *simulation) exists(n *node) bool { return n != nil && slices.Contains(sim.nodes, n) }

// oneIn is true once in n times on average, and never when all is calm.
func (sim *simulation) oneIn(n int) bool { return !sim.calm && sim.Pick(n) == n-1 }

// sequence is the number of the next sequential child, as ZooKeeper counts.
func (sim *simulation) sequence() int32 {
	n := sim.from + sim.created
	sim.created++
	if sim.sticks {
		n = min(n, math.MaxInt32)
	}
	return int32(n)
}

func (sim *simulation) find(path string) *node {
	for _, n := range sim.nodes {
		if n.path == path {
			return n
		}
	}
	return nil
}

// create makes a contender; with a name without a marker, another znode.
func (sim *simulation) create(owner int64, name string, data []byte) *node {
	sim.zxid++
	guid := znode.GUID(fmt.Sprintf("%08x-0000-4000-8000-%012x", sim.zxid, owner))
	full := fmt.Sprintf("%s%010d", znode.Protect(guid, name), sim.sequence())
	return sim.add(&node{path: parent + "/" + full, order: sim.zxid, owner: owner, data: data})
}

func (sim *simulation) add(n *node) *node {
	n.czxid, n.mzxid = sim.zxid, sim.zxid
	sim.nodes = append(sim.nodes, n)
	sim.pzxid = sim.zxid
	sim.crowd()
	return n
}

// remove deletes a node and fires its watches.
func (sim *simulation) remove(n *node, byAdmin bool) {
	i := slices.Index(sim.nodes, n)
	sim.nodes = slices.Delete(sim.nodes, i, i+1)
	sim.zxid++
	n.dzxid, n.byAdmin = sim.zxid, byAdmin
	sim.deaths = append(sim.deaths, n)
	sim.pzxid = sim.zxid
	sim.changed(n.path, true)
	sim.crowd()
}

// set writes data.
func (sim *simulation) set(n *node, data []byte) {
	sim.zxid++
	n.mzxid, n.data = sim.zxid, data
	n.version++
	sim.changed(n.path, false)
}

// crowd fires the watches on the children.
func (sim *simulation) crowd() {
	for _, s := range sim.sessions {
		if s.changed(children, false) {
			sim.fired++
		}
	}
}

// changed fires the watches on a path.
func (sim *simulation) changed(path string, deleted bool) {
	for _, s := range sim.sessions {
		if s.changed(path, deleted) {
			sim.fired++
		}
	}
}

// expire ends a session at the server.
func (sim *simulation) expire(s *session) {
	for _, o := range sim.sessions {
		if o.id == s.id {
			o.dead, o.arms = true, nil
		}
	}
	for _, n := range slices.Clone(sim.nodes) {
		if n.owner == s.id {
			sim.remove(n, false)
		}
	}
}

// rival tells whether another client, or this instance in another session, has contended since.
func (sim *simulation) rival(i *instance, since int64) bool {
	other := func(n *node) bool { return (n.owner != i.as || n.by != i) && !n.foreign }
	return slices.ContainsFunc(sim.nodes, other) ||
		slices.ContainsFunc(sim.deaths, func(n *node) bool { return other(n) && n.dzxid > since })
}
