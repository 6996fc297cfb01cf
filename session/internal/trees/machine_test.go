// The machine against a simulated ensemble: every tree that says of which transaction it is has to
// be the server's state then. Requests, answers and events are delivered in the order of the wire,
// at any moment; connections are lost at any moment, and the next server may be behind, though not
// behind what was answered before; writers go on.

package trees_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session/internal/trees"
)

func TestMain(m *testing.M) { tier.Main(m) }

var errNoAuth, errNoNode = errors.New("not permitted"), errors.New("no such znode")

// stage is a machine with a simulated server.
type stage struct {
	*testing.T
	*trees.Machine
	rng  *rand.Rand
	seed uint64
	now  time.Time
	// The servers, of which the one at the other end has carried out the transactions up to zxid.
	plain   bool
	depth   int
	zxid    int64
	nodes   map[string]znode
	history []map[string]znode // by zxid
	events  [][]event          // of the transactions, likewise
	pace    int                // steps a transaction, on average
	other   string             // the root of another tree: events of it are told, and it is not probed
	// The connection.
	up       bool
	watching bool                // a watch tells of all
	armed    map[trees.Read]bool // watches that fire once, by the read that arms them; of a missing root the exists
	requests []request           // not served yet
	wire     []func()            // what the server has sent, not delivered yet
	// What the client knows of the watches that fire once, as a session that arms them again.
	known map[trees.Read]bool
	seen  int64
	// What was published.
	last   *trees.Node
	of     int64 // the transaction of which it is the state, or 0; -1: the connection was lost since
	exact  int
	loose  int
	before map[string]int64
}

type event struct {
	kind jute.EventType
	path string
}

type znode struct{ czxid, mzxid, pzxid int64 }

type request struct {
	read  trees.Read
	other func()
}

func newStage(t *testing.T, seed uint64) *stage {
	g := &stage{
		T: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), now: time.Unix(1_000_000, 0), zxid: 1,
		nodes: map[string]znode{}, known: map[trees.Read]bool{},
	}
	g.history, g.events, g.seen = []map[string]znode{{}, {}}, make([][]event, 2), 1
	g.plain, g.depth = g.rng.IntN(3) == 0, g.rng.IntN(3)
	g.other = []string{"none", "a", "a/x", "b"}[g.rng.IntN(4)]
	g.Machine = trees.New(g.depth, 1000, g.plain)
	return g
}

var names = []string{"", "a", "b", "u", "a/x", "a/y", "b/x", "a/x/1", "a/x/2", "u/x"}

// unreadable are the znodes that the session may not read: of them a server tells nothing.
func unreadable(path string) bool { return strings.HasPrefix(path, "u") }

func parent(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

func (g *stage) children(path string) []string { return childrenIn(g.nodes, path) }

func childrenIn(nodes map[string]znode, path string) (all []string) {
	for p := range nodes {
		if p != "" && parent(p) == path {
			all = append(all, strings.TrimPrefix(strings.TrimPrefix(p, path), "/"))
		}
	}
	slices.Sort(all)
	return all
}

// write makes a transaction of one to three writes.
func (g *stage) write() {
	zxid, nodes := int64(len(g.history)), maps.Clone(g.history[len(g.history)-1])
	var told []event
	touch := func(path string) {
		if up, above := nodes[parent(path)]; path != "" && above {
			up.pzxid = zxid
			nodes[parent(path)] = up
		}
		told = append(told, event{jute.NodeChildrenChanged, parent(path)})
	}
	for range 1 + g.rng.IntN(3) {
		path := names[g.rng.IntN(len(names))]
		n, exists := nodes[path]
		_, below := nodes[parent(path)]
		switch {
		case !exists && (path == "" || below):
			nodes[path] = znode{zxid, zxid, zxid}
			told = append(told, event{jute.NodeCreated, path})
			touch(path)
		case exists && g.rng.IntN(3) > 0:
			n.mzxid = zxid
			nodes[path] = n
			told = append(told, event{jute.NodeDataChanged, path})
		case exists && len(childrenIn(nodes, path)) == 0:
			delete(nodes, path)
			told = append(told, event{jute.NodeDeleted, path})
			touch(path)
		}
	}
	g.history, g.events = append(g.history, nodes), append(g.events, told)
}

func (g *stage) behind() bool { return g.zxid < int64(len(g.history)-1) }

// carryOut has the server at the other end carry out the next transaction.
func (g *stage) carryOut() {
	g.zxid++
	g.nodes = g.history[g.zxid]
	for _, ev := range g.events[g.zxid] {
		g.tell(ev.kind, ev.path)
	}
}

// fires are the watches that fire once which an event fires.
func fires(kind jute.EventType, path string) []trees.Read {
	data, kids, birth := trees.Read{Path: path, Op: jute.OpGetData}, trees.Read{Path: path, Op: jute.OpGetChildren2}, trees.Read{Path: path, Op: jute.OpExists}
	switch kind {
	case jute.NodeCreated:
		return []trees.Read{birth}
	case jute.NodeDataChanged:
		return []trees.Read{data}
	case jute.NodeChildrenChanged:
		return []trees.Read{kids}
	default:
		return []trees.Read{data, kids}
	}
}

// tell sends an event to those who watch.
func (g *stage) tell(kind jute.EventType, path string) {
	told := g.watching && kind != jute.NodeChildrenChanged || g.up && (path == g.other || g.rng.IntN(5) == 0) // or something else of the session watches it
	for _, w := range fires(kind, path) {
		told = told || g.armed[w]
		delete(g.armed, w)
	}
	if told && !unreadable(path) {
		g.send(func() {
			for _, w := range fires(kind, path) {
				delete(g.known, w)
			}
			g.Event(kind, path)
		})
	}
}

func (g *stage) send(what func()) { g.wire = append(g.wire, what) }

// serve answers a request.
func (g *stage) serve() {
	r := g.requests[0]
	g.requests = g.requests[1:]
	if r.other != nil {
		r.other()
		return
	}
	read := r.read
	n, exists := g.nodes[read.Path]
	a, err, arms := jute.Reply{Zxid: g.zxid}, error(nil), exists
	switch {
	case !exists:
		a.Err, err, arms = jute.NoNode, errNoNode, read.Op == jute.OpExists
	case read.Op == jute.OpExists: // which exists, and its data are watched
	case unreadable(read.Path):
		a.Err, err, arms = jute.NoAuth, errNoAuth, false
	case read.Op == jute.OpGetData:
		a.Data = fmt.Append(nil, n.mzxid)
		a.Stat = jute.Stat{Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, NumChildren: int32(len(g.children(read.Path)))}
	default:
		a.Names = g.children(read.Path)
	}
	watch := read
	if read.Op == jute.OpExists && exists {
		watch.Op = jute.OpGetData
	}
	if arms && g.plain {
		g.armed[watch] = true
	}
	g.send(func() {
		if arms && g.plain {
			g.known[watch] = true
		}
		g.seen = a.Zxid
		g.Answer(read, &a, err)
		g.look()
	})
}

// missed tells what has changed since a transaction, of what is watched from now on.
func (g *stage) missed(since int64, watches []trees.Read) {
	for _, w := range watches {
		kind, changed := jute.NodeDeleted, true
		switch n, exists := g.nodes[w.Path]; {
		case w.Op == jute.OpExists:
			kind, changed = jute.NodeCreated, exists
		case !exists:
		case w.Op == jute.OpGetData:
			kind, changed = jute.NodeDataChanged, n.mzxid > since
		default:
			kind, changed = jute.NodeChildrenChanged, n.pzxid > since
		}
		g.armed[w] = true
		if changed {
			g.tell(kind, w.Path)
		}
	}
}

func (g *stage) connect() {
	g.up, g.armed, g.watching = true, map[trees.Read]bool{}, false
	g.zxid = int64(len(g.history) - 1)
	if g.pace = 1 << max(0, g.rng.IntN(12)-4); g.rng.IntN(2) == 0 {
		g.zxid -= g.rng.Int64N(g.zxid - g.seen + 1)
	}
	g.nodes = g.history[g.zxid]
	if g.plain { // the session arms its watches, and the tree begins anew
		known := slices.SortedFunc(maps.Keys(g.known), func(a, b trees.Read) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		g.missed(g.seen, known)
		g.Machine = trees.New(g.depth, 1000, true)
		g.Resume(func(string, bool) {})
		g.Probed()
		return
	}
	var known []trees.Read
	since := g.Resume(func(path string, children bool) {
		known = append(known, trees.Read{Path: path, Op: jute.OpGetData})
		if children {
			known = append(known, trees.Read{Path: path, Op: jute.OpGetChildren2})
		}
	})
	if is := func(r trees.Read) bool { return r.Path == g.other }; slices.ContainsFunc(known, is) {
		known = slices.DeleteFunc(known, is)
		g.Event(jute.NodeDataChanged, g.other)
		g.Event(jute.NodeChildrenChanged, g.other)
	}
	g.rng.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
	for some := range slices.Chunk(known, 4) {
		g.requests = append(g.requests, request{other: func() { g.missed(since, some) }})
	}
	g.requests = append(g.requests, request{other: func() {
		g.watching = true
		zxid := g.zxid
		g.send(func() {
			g.seen = zxid
			g.Probed()
			g.look()
		})
	}})
}

func (g *stage) disconnect() {
	g.up, g.watching, g.armed, g.wire, g.requests = false, false, nil, nil, nil
	g.Down()
	g.of = -1
}

// look takes what is published, and checks it.
func (g *stage) look() {
	out, zxid, _ := g.Due(g.now)
	if out == nil {
		return
	}
	got := map[string]int64{}
	flatten(out, "", func(path string, n *trees.Node) {
		got[path] = n.Stat.Mzxid
		if unreadable(path) {
			require.Error(g, n.Unread, "seed %d", g.seed)
		} else {
			require.Equal(g, fmt.Sprint(n.Stat.Mzxid), string(n.Data), "seed %d", g.seed)
		}
	})
	if zxid == 0 {
		g.loose++
	} else {
		g.exact++
		want := map[string]int64{}
		for path, n := range g.history[zxid] {
			if !unreadable(path) && (g.depth == 0 || path == "" || strings.Count(path, "/") < g.depth) {
				want[path] = n.mzxid
			}
		}
		maps.DeleteFunc(got, func(path string, _ int64) bool { return unreadable(path) })
		require.Equal(g, want, got, "seed %d: of transaction %d", g.seed, zxid)
	}
	for path, mzxid := range g.before {
		if now, there := got[path]; there && !unreadable(path) {
			require.GreaterOrEqual(g, now, mzxid, "seed %d: %s", g.seed, path)
		}
	}
	g.before = got
	if g.last != nil { // what has changed leads from one tree to the other
		state := map[string]int64{}
		flatten(g.last, "", func(path string, n *trees.Node) { state[path] = n.Stat.Mzxid })
		for path, n := range trees.Changed(g.last, out) {
			if delete(state, path); n != nil {
				state[path] = n.Stat.Mzxid
			}
		}
		after := map[string]int64{}
		flatten(out, "", func(path string, n *trees.Node) { after[path] = n.Stat.Mzxid })
		require.Equal(g, after, state, "seed %d", g.seed)
	}
	g.last, g.of = out, zxid
}

func flatten(n *trees.Node, path string, visit func(path string, n *trees.Node)) {
	if n.At("") == nil {
		return
	}
	visit(path, n)
	for name, c := range n.Below() {
		flatten(c, trees.Join(path, name), visit)
	}
}

func (g *stage) step(writes int) {
	for g.up && g.behind() && g.rng.IntN(g.pace) == 0 {
		g.carryOut()
	}
	switch dice := g.rng.IntN(100); {
	case dice < writes:
		g.write()
	case !g.up:
		g.connect()
	case dice < writes+1:
		g.disconnect()
	case dice < 45:
		reads, live, _ := g.Next(1 + g.rng.IntN(3))
		require.True(g, live || len(reads) == 0, "seed %d", g.seed)
		for _, read := range reads {
			g.requests = append(g.requests, request{read: read})
		}
	case dice < 70 && len(g.requests) > 0:
		g.serve()
	case len(g.wire) > 0:
		what := g.wire[0]
		g.wire = g.wire[1:]
		what()
	default:
		g.now = g.now.Add(time.Duration(g.rng.IntN(600)) * time.Millisecond)
		g.look()
	}
}

func TestATreeIsTheStateAtItsTransaction(t *testing.T) {
	t.Parallel()
	var exact, loose int
	for seed := range uint64(2000) {
		g := newStage(t, seed)
		g.disconnect()
		writes := 1 + g.rng.IntN(30)
		for range 400 {
			g.step(writes)
		}
		for range 2000 { // the writers rest, and connections last
			if g.step(0); !g.up {
				g.connect()
			}
		}
		exact, loose = exact+g.exact, loose+g.loose
		for i := 0; len(g.requests)+len(g.wire) > 0 || g.behind() || g.of <= 0; i++ {
			require.Less(t, i, 10_000, "seed %d: it never settles", seed)
			if g.step(0); !g.up {
				g.connect()
			}
		}
		want := map[string]int64{}
		for path, n := range g.nodes {
			if !unreadable(path) && (g.depth == 0 || path == "" || strings.Count(path, "/") < g.depth) {
				want[path] = n.mzxid
			}
		}
		got := maps.Clone(g.before)
		maps.DeleteFunc(got, func(path string, _ int64) bool { return unreadable(path) })
		require.Equal(t, want, got, "seed %d: the last state", seed)
	}
	t.Log(exact, loose)
	require.Greater(t, loose, 100)
}
