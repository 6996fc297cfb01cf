package contend_test

// The simulation that schedules run in: a ZooKeeper in memory with one queue in it. Its parts:
//
//   - simulation_test.go: the znodes at the server, and what changes them
//   - session_test.go: sessions: requests, answers and watches; followers_test.go: what instances
//     that share a session hear of one another
//   - instance_test.go: a machine with its host and application; faults_test.go: what is on its way
//     to the machine, and what goes wrong with it
//   - schedule_test.go: what happens, as it is drawn, and the calm end of a schedule
//   - rules_test.go, known_test.go: what is checked; delay_test.go: the record of a delay, and the
//     single znode, in all of these
//
// cost_test.go runs it without faults. trace_test.go has the stories, which need no simulation.

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

	// What is played: set before it begins, but for calm and brief.
	table  *recipetest.Table // of the transitions that the instances may take
	taken  recipetest.Steps  // those that they took; nil: not recorded
	rule   rule              // of all instances: see rules_test.go
	from   int64             // the first sequence number
	sticks bool              // sequence numbers stick at the greatest, as in ZooKeeper 3.8; otherwise they wrap around
	early  bool              // a session forgets a watch as soon as it fires, not when its event is delivered: see believed
	calm   bool              // there are no faults, or no more: see oneIn
	brief  bool              // no pause ends, as if everything were released before: see deliveries

	// The znodes at the server.
	zxid    int64   // of the last change
	limit   node    // the parent: its data are a semaphore's limit
	pzxid   int64   // of the last change of its children
	nodes   []*node // the children
	deaths  []*node // those that were deleted, each with its dzxid
	created int64   // children so far
	record  *record // of a delay: see delay_test.go; nil: there is none

	// The clients.
	all      []*instance
	sessions []*session        // of all instances and epochs
	ids      int64             // of ZooKeeper sessions so far: instances may share one
	entries  map[string]*entry // what sessions keep of their contenders, by path: see followers_test.go

	// What checks remember.
	lastToken int64          // the greatest that was granted alone: see checkToken
	erased    map[int64]bool // tokens whose record another client deleted: see checkGrant

	// What checks of the cost count and set to 0: handOver, and those in cost_test.go.
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
	owner   int64     // the ZooKeeper session; 0: it is not ephemeral
	by      *instance // that created it, of those that share the session; nil: another client
	data    []byte
	foreign bool // no contender at all

	// For checks: of a semaphore's contender (checkMark), and of a deletion (checkMissed, rival).
	granted bool // it was marked
	fitted  bool // it fitted under a limit that was changed since
	dzxid   int64
	byAdmin bool // another client deleted it
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

// create makes a contender. Its name begins with "lock-", "read-" or the like, behind a GUID.
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
	sim.changed(children, false)
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
	sim.changed(children, false)
}

// set writes data.
func (sim *simulation) set(n *node, data []byte) {
	sim.zxid++
	n.mzxid, n.data = sim.zxid, data
	n.version++
	sim.changed(n.path, false)
}

// changed fires the watches on a path, or on the children.
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

// rival tells whether another client, or this instance in another session, has contended since that
// Zxid.
func (sim *simulation) rival(i *instance, since int64) bool {
	other := func(n *node) bool { return (n.owner != i.as || n.by != i) && !n.foreign }
	return slices.ContainsFunc(sim.nodes, other) ||
		slices.ContainsFunc(sim.deaths, func(n *node) bool { return other(n) && n.dzxid > since })
}
