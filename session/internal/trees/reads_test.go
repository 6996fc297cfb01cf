// What the machine asks for, in what order, and what it does not ask for.

package trees_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/trees"
)

// script is a machine with a znode "a" below the root, both read.
type script struct {
	*testing.T
	*trees.Machine
	now time.Time
}

func newScript(t *testing.T) *script {
	s := &script{T: t, Machine: trees.New(0, 10, false), now: time.Unix(1, 0)}
	s.Resume(func(path string, _ bool) { t.Error("known: ", path) })
	s.Probed()
	s.asks("data ") // the names only if there are any
	s.data("", 1)
	s.asks("names ")
	s.Answer(trees.Read{Op: jute.OpGetChildren2}, &jute.Reply{Zxid: 1, Names: []string{"a"}}, nil)
	s.asks("data a")
	s.data("a", 0)
	s.asks()
	s.publishes()
	return s
}

// asks tells which reads there are to be asked now.
func (s *script) asks(want ...string) {
	s.Helper()
	reads, up, _ := s.Next(100)
	require.True(s, up)
	var got []string
	for _, r := range reads {
		got = append(got, map[jute.Op]string{jute.OpGetData: "data ", jute.OpGetChildren2: "names "}[r.Op]+r.Path)
	}
	require.Equal(s, want, got)
}

func (s *script) data(path string, children int32) {
	s.Answer(trees.Read{Path: path, Op: jute.OpGetData}, &jute.Reply{Zxid: 1, Stat: jute.Stat{Mzxid: 1, NumChildren: children}}, nil)
}

func (s *script) publishes() *trees.Node {
	s.Helper()
	out, zxid, _ := s.Due(s.now)
	require.NotNil(s, out)
	require.EqualValues(s, 1, zxid)
	return out
}

func TestEachChangeIsOneRead(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.Event(jute.NodeDataChanged, "a")
	s.Event(jute.NodeDataChanged, "a")
	s.Event(jute.NodeCreated, "b") // of what comes below it events tell
	s.Event(jute.NodeChildrenChanged, "")
	out, _, again := s.Due(s.now)
	require.Nil(t, out, "not whole, within a second")
	require.Equal(t, time.Second, again.Sub(s.now))
	s.asks("data a", "data b")
	s.Event(jute.NodeDataChanged, "a") // the answer, which comes behind this, has seen it
	s.asks()
	s.data("a", 0)
	s.data("b", 3)
	s.asks()
	s.Event(jute.NodeDataChanged, "b")
	s.Event(jute.NodeDeleted, "b")
	s.Event(jute.NodeCreated, "b")
	reads, _, _ := s.Next(1)
	require.Equal(t, "b", reads[0].Path)
	s.data("b", 0)
	s.asks("data ") // b is known by now
	s.data("", 2)
	s.publishes()
	s.Event(jute.NodeDataChanged, "b")
	s.asks("data b")
	s.data("b", 0)
	out, _, again = s.Due(s.now)
	require.Nil(t, out, "nothing has changed")
	require.Zero(t, again)
}

func TestALostConnectionHasWhatWasNotAnsweredAskedOnce(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.Event(jute.NodeDataChanged, "a")
	s.Event(jute.NodeCreated, "b")
	s.asks("data a", "data b")
	s.Down()
	s.Probed() // of the connection before
	_, up, _ := s.Next(1)
	require.False(t, up)
	s.data("a", 0) // likewise
	var known []string
	since := s.Resume(func(path string, children bool) { known = append(known, fmt.Sprint(path, children)) })
	require.EqualValues(t, 1, since)
	require.Equal(t, []string{"true", "atrue"}, known)
	s.Down()
	s.Probed()
	_, up, _ = s.Next(1)
	require.False(t, up)
	s.Resume(func(string, bool) {})
	s.Event(jute.NodeChildrenChanged, "")
	s.Probed()
	s.asks("data a", "data b", "names ")
}

// What is too large to be listed stays so when its data have changed, and has nothing below it.
func TestWhatCannotBeListedHasNothingBelowIt(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.Event(jute.NodeCreated, "a")
	s.asks("data a")
	s.data("a", 2)
	s.asks("names a")
	tooLarge := errors.New("too large")
	s.Answer(trees.Read{Path: "a", Op: jute.OpGetChildren2}, &jute.Reply{Zxid: 1, Err: jute.MarshallingError}, tooLarge)
	require.Equal(t, tooLarge, s.publishes().At("a").Unread)
	s.Event(jute.NodeCreated, "a/x")
	s.asks()
	s.Event(jute.NodeDataChanged, "a")
	s.asks("data a")
	s.data("a", 2)
	s.asks("names a")
	s.Answer(trees.Read{Path: "a", Op: jute.OpGetChildren2}, &jute.Reply{Zxid: 1, Err: jute.MarshallingError}, tooLarge)
	for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		_, _, again := s.Due(s.now)
		require.Equal(t, pause, again.Sub(s.now))
		s.now = again
		s.Due(s.now)
		s.asks("data a")
		s.data("a", 2)
		s.asks("names a")
		s.Answer(trees.Read{Path: "a", Op: jute.OpGetChildren2}, &jute.Reply{Zxid: 1, Err: jute.MarshallingError}, tooLarge)
	}
	s.Event(jute.NodeCreated, "b")
	s.asks("data b")
	s.Answer(trees.Read{Path: "b", Op: jute.OpGetData}, &jute.Reply{Zxid: 1, Err: jute.NoAuth}, errNoAuth)
	_, _, again := s.Due(s.now)
	require.Equal(t, time.Second, again.Sub(s.now), "for what is new")
	s.Event(jute.NodeDeleted, "a/y") // the last one
	s.Event(jute.NodeDataChanged, "a")
	s.asks("data a")
	s.data("a", 1)
	s.asks("names a")
	s.Answer(trees.Read{Path: "a", Op: jute.OpGetChildren2}, &jute.Reply{Zxid: 1}, nil)
	require.NoError(t, s.publishes().At("a").Unread)
	s.Event(jute.NodeDeleted, "b")
	s.asks("data ")
	s.data("", 1)
	s.publishes()
	s.now = s.now.Add(time.Hour)
	s.Due(s.now) // looks for what could not be read
	_, _, again = s.Due(s.now)
	require.Zero(t, again, "there is nothing")
}

// An overloaded server is asked again. What it lists is not trusted.
func TestAnswersOfServers(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.Event(jute.NodeDataChanged, "a")
	s.asks("data a")
	s.Answer(trees.Read{Path: "a", Op: jute.OpGetData}, &jute.Reply{Err: jute.ThrottledOp}, errors.New("throttled"))
	s.asks("data a")
	s.Event(jute.NodeCreated, "a")
	s.data("a", 1)
	s.asks("names a")
	s.Answer(trees.Read{Path: "a", Op: jute.OpGetChildren2}, &jute.Reply{Zxid: 1, Names: []string{"y", "", "x", "u/v", "y", ".."}}, nil)
	s.asks("data a/x", "data a/y")
	s.data("a/x", 0)
	s.data("a/y", 0)
	s.publishes()
	s.Event(jute.NodeDataChanged, "a/x")
	s.Event(jute.NodeDataChanged, "a")
	s.asks("data a/x", "data a")
	s.Answer(trees.Read{Path: "a", Op: jute.OpGetData}, &jute.Reply{Zxid: 1, Err: jute.NoAuth}, errNoAuth)
	a := s.publishes().At("a")
	require.Equal(t, errNoAuth, a.Unread)
	require.Zero(t, a.Stat)
	require.Nil(t, a.At("x"), "which is not awaited any more")
}

// When reads do not keep up, a tree is published each second; the first one is whole all the same.
func TestTheFirstTreeIsWhole(t *testing.T) {
	t.Parallel()
	s := &script{T: t, Machine: trees.New(0, 10, false), now: time.Unix(1, 0)}
	s.Resume(func(string, bool) {})
	s.Probed()
	nothing := func() {
		for range 3 {
			out, _, _ := s.Due(s.now)
			require.Nil(t, out)
			s.now = s.now.Add(time.Second)
		}
	}
	s.asks("data ")
	nothing()
	s.data("", 1)
	s.asks("names ")
	nothing()
	s.Answer(trees.Read{Op: jute.OpGetChildren2}, &jute.Reply{Zxid: 1, Names: []string{"a"}}, nil)
	nothing()
	s.asks("data a")
	s.Event(jute.NodeCreated, "b")
	s.asks("data b")
	s.data("a", 0)
	out, zxid, again := s.Due(s.now)
	require.NotNil(t, out.At("a"))
	require.Nil(t, out.At("b"), "it is not known yet")
	for name := range out.Below() {
		require.Equal(t, "a", name)
	}
	require.Zero(t, zxid)
	require.Equal(t, time.Second, again.Sub(s.now))
	nothing() // has changed since
	s.Event(jute.NodeCreated, "a")
	s.asks("data a")
	s.data("b", 0)
	out, zxid, _ = s.Due(s.now)
	require.NotNil(t, out.At("b"))
	require.Zero(t, zxid)
	s.data("a", 0) // as it was
	s.publishes()
}

// So it is where the children are at the depth limit: these are not listed.
func TestTheFirstTreeOfALevelIsWhole(t *testing.T) {
	t.Parallel()
	s := &script{T: t, Machine: trees.New(1, 10, false), now: time.Unix(1, 0)}
	s.Resume(func(string, bool) {})
	s.Probed()
	s.asks("data ")
	s.data("", 2)
	s.asks("names ")
	s.Answer(trees.Read{Op: jute.OpGetChildren2}, &jute.Reply{Zxid: 1, Names: []string{"a", "b"}}, nil)
	s.asks("data a", "data b")
	s.data("a", 0)
	for range 3 {
		out, _, _ := s.Due(s.now)
		require.Nil(t, out)
		s.now = s.now.Add(time.Second)
	}
	s.data("b", 3)
	s.asks()
	s.publishes()
}

// Many changes below one znode between two trees do not cost a copy of its listing each.
func TestChangesBetweenTwoTreesCopyAListingOnce(t *testing.T) { //nolint:paralleltest // it measures memory
	s := &script{T: t, Machine: trees.New(0, 100_000, false), now: time.Unix(1, 0)}
	s.Resume(func(string, bool) {})
	s.Probed()
	s.data("", 10_000)
	var names []string
	for i := range 10_000 {
		names = append(names, fmt.Sprintf("%05d", i))
	}
	s.Answer(trees.Read{Op: jute.OpGetChildren2}, &jute.Reply{Zxid: 1, Names: names}, nil)
	for _, name := range names {
		s.data(name, 0)
	}
	s.publishes()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, name := range names[:1000] {
		s.Event(jute.NodeDataChanged, name)
		s.Answer(trees.Read{Path: name, Op: jute.OpGetData}, &jute.Reply{Zxid: 2, Stat: jute.Stat{Mzxid: 2}}, nil)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10<<20))
}
