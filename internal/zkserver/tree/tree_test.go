package tree_test

// The tree itself: times, owners, sequences, plans, and that its counters agree with what is in it.
// Which write is refused for what, and what a stat counts, is told by package zktest. B20 and B35
// are failures of other libraries: see docs/decisions/0006.

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

func TestMain(m *testing.M) { tier.Main(m) }

// clocked is a tree whose transactions have numbers and instants: number n is at 10n ms.
type clocked struct {
	*tree.Tree
	zxid int64
}

func newTree() *clocked { return &clocked{Tree: tree.New()} }

var nobody = tree.Caller{Session: 7}

func create(path string, flags int32) *jute.Request {
	return &jute.Request{Op: jute.OpCreate, Path: path, ACL: jute.OpenACL(), Flags: flags, TTL: -1}
}

func (w *clocked) do(who tree.Caller, q *jute.Request) (tree.Change, jute.Code) {
	w.zxid++
	c, code := w.Prepare(who, q)
	if code == jute.OK {
		w.Apply(&c, w.zxid, w.zxid*10)
	}
	return c, code
}

func (w *clocked) must(t require.TestingT, q *jute.Request) string {
	c, code := w.do(nobody, q)
	require.Equal(t, jute.OK, code, "%v %s", q.Op, q.Path)
	return c.Path
}

func TestTimesAreThoseOfTheCreationAndOfTheLastData(t *testing.T) {
	t.Parallel()
	w := newTree()
	w.must(t, create("/p", 0))
	w.must(t, create("/p/a", 0))
	w.must(t, &jute.Request{Op: jute.OpSetData, Path: "/p", Version: 0})
	w.must(t, &jute.Request{Op: jute.OpSetACL, Path: "/p", ACL: jute.OpenACL(), Version: 0})
	require.EqualValues(t, 10, w.Get("/p").Stat().Ctime)
	require.EqualValues(t, 30, w.Get("/p").Stat().Mtime)
}

// B35: a container goes when its last child has gone, and not before it had one; a TTL znode when
// its time is over.
func TestContainersAndTTLsHideTheirOwnersAndAreReapable(t *testing.T) {
	t.Parallel()
	w := newTree()
	c := create("/c", jute.FlagContainer)
	c.Op = jute.OpCreateContainer
	w.must(t, c)
	w.must(t, &jute.Request{Op: jute.OpCreateTTL, Path: "/t", Flags: 5, TTL: 15, ACL: jute.OpenACL()})
	require.Zero(t, w.Get("/c").Stat().EphemeralOwner)
	require.Zero(t, w.Get("/t").Stat().EphemeralOwner)
	require.Equal(t, tree.OwnerContainer, w.Get("/c").Owner())
	ttl, ok := tree.TTL(w.Get("/t").Owner())
	require.True(t, ok)
	require.EqualValues(t, 15, ttl)
	for _, owner := range []int64{0, tree.OwnerContainer, tree.OwnerTTL(1)} {
		require.False(t, tree.Ephemeral(owner))
	}
	require.True(t, tree.Ephemeral(1<<56|5))

	require.Empty(t, w.Reapable(30), "an unused container, and a TTL of which one millisecond is left")
	require.Equal(t, []string{"/t"}, w.Reapable(36))
	w.must(t, create("/c/x", 0))
	require.Equal(t, []string{"/t"}, w.Reapable(36))
	w.must(t, &jute.Request{Op: jute.OpDelete, Path: "/c/x", Version: -1})
	require.Equal(t, []string{"/c", "/t"}, w.Reapable(36))
	w.must(t, &jute.Request{Op: jute.OpDeleteContainer, Path: "/c"})
	_, code := w.do(nobody, &jute.Request{Op: jute.OpDeleteContainer, Path: "/zookeeper/quota/x"})
	require.Equal(t, jute.NoNode, code)
	require.Equal(t, 1, w.NumReapable())
}

// B20: at the end of int32 the counter of creations sticks, and Pzxid with it: the last number is
// given again and again. A number below zero has its sign in the name.
func TestB20_TheSequenceSticksAtItsEnd(t *testing.T) {
	t.Parallel()
	w := newTree()
	w.must(t, create("/p", 0))
	w.SetCreations("/p", math.MaxInt32-1)
	require.Equal(t, "/p/a2147483646", w.must(t, create("/p/a", jute.FlagSequential)))
	before := w.Get("/p").Pzxid()
	require.Equal(t, "/p/a2147483647", w.must(t, create("/p/a", jute.FlagSequential)))
	require.Equal(t, "/p/b2147483647", w.must(t, create("/p/b", jute.FlagSequential)))
	_, code := w.do(nobody, create("/p/a", jute.FlagSequential))
	require.Equal(t, jute.NodeExists, code)
	require.Equal(t, before, w.Get("/p").Pzxid())
	require.EqualValues(t, math.MaxInt32, w.Get("/p").Creations())
	w.SetCreations("/p", -1)
	require.Equal(t, "/p/a-000000001", w.must(t, create("/p/a", jute.FlagSequential)))
}

// Any history leaves a tree whose counters and sets agree with what is in it, and whose clones are
// equal and independent.
func TestAnyHistoryLeavesATreeThatAgreesWithItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newTree()
		path := rapid.Custom(func(rt *rapid.T) string {
			s := ""
			for range rapid.IntRange(1, 3).Draw(rt, "depth") {
				s += "/" + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "name")
			}
			return s
		})
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			q := create(path.Draw(rt, "path"), int32(rapid.IntRange(0, 3).Draw(rt, "flags")))
			switch rapid.IntRange(0, 6).Draw(rt, "op") {
			case 0:
				q = &jute.Request{Op: jute.OpDelete, Path: q.Path, Version: -1}
			case 1:
				q = &jute.Request{Op: jute.OpSetData, Path: q.Path, Data: []byte("x"), Version: -1}
			case 2:
				q.Op, q.Flags = jute.OpCreateContainer, jute.FlagContainer
			}
			w.do(tree.Caller{Session: int64(rapid.IntRange(1, 2).Draw(rt, "session"))}, q)
		}
		checkInvariants(rt, w.Tree)
		clone := w.Clone()
		checkInvariants(rt, clone)
		before := text(clone)
		require.Equal(rt, text(w.Tree), before)
		w.must(rt, create("/only-here", 0))
		for _, c := range w.CloseSession(1) {
			w.Apply(&c, 1000, 1000)
		}
		require.Equal(rt, before, text(clone))
		checkInvariants(rt, w.Tree)
	})
}

func text(t *tree.Tree) (s string) {
	t.Walk(func(n *tree.Node) { s += fmt.Sprintf("%s %q %+v %v\n", n.Path(), n.Data(), n.Stat(), n.Owner()) })
	return s
}

func checkInvariants(t require.TestingT, w *tree.Tree) {
	nodes, ephemerals, reapable, size := 0, 0, 0, int64(len("/"))
	w.Walk(func(n *tree.Node) {
		nodes++
		if tree.Ephemeral(n.Owner()) {
			ephemerals++
			require.Contains(t, w.Ephemerals(n.Owner()), n.Path())
			require.Zero(t, n.NumChildren())
		} else if n.Owner() != 0 {
			reapable++
		}
		require.Same(t, n, w.Get(n.Path()))
		if n.Parent() != nil {
			require.Same(t, n.Parent(), w.Get(tree.Parent(n.Path())))
			size += int64(len(n.Path()) + len(n.Data()))
		}
		count := 0
		n.Children(func(c *tree.Node) {
			count++
			require.Same(t, n, c.Parent())
			require.Equal(t, n.Path()+"/"+c.Name(), c.Path())
		})
		require.Equal(t, n.NumChildren(), count)
		require.LessOrEqual(t, n.NumChildren(), int(n.Creations())+2) // those that were there from the start don't count
	})
	require.Equal(t, nodes, w.Len())
	require.Equal(t, nodes-1, w.CountBelow("/"))
	require.Equal(t, ephemerals, w.NumEphemerals())
	require.Equal(t, reapable, w.NumReapable())
	require.Equal(t, size, w.DataSize())
}

// One more identity costs the same for a client that has many, since the server adds it under its
// lock. One that is there is not added again.
func TestIdentitiesCostTheSameHoweverManyThereAre(t *testing.T) {
	w := tree.NewWho()
	next := 0
	add := func() {
		next++
		w.Add(jute.Identity{Scheme: "digest", ID: strconv.Itoa(next)})
	}
	for range 10_000 {
		add()
	}
	require.Less(t, testing.AllocsPerRun(100, add), 10.0)
	require.Len(t, w.IDs(), next)
	w.Add(jute.Identity{Scheme: "digest", ID: "1"})
	require.Len(t, w.IDs(), next)
}
