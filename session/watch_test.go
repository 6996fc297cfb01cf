// Subscriptions: each tells the present state, misses no change, and outlives connections and
// epochs; and a znode on which no client depends any more is not watched any more. Helpers: newest
// and quiet in helper_test.go.

package session_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestWatchDataFollowsAZnodeThroughItsLives(t *testing.T) {
	everywhere(t, func(w *harness, s *session.Session) {
		states := s.WatchData(w.ctx, "/a")
		require.Equal(w, session.Data{}, newest(w, states), "missing, and known to be")
		w.create(s, "/a", []byte("one"))
		d := newest(w, states)
		require.True(w, d.Exists)
		require.Equal(w, "one", string(d.Bytes))
		w.write(s, "/a", []byte("two"))
		require.Equal(w, "two", string(newest(w, states).Bytes))
		w.create(s, "/a/child", nil)
		quiet(w, states)
		require.NoError(w, s.DeleteAll(w.ctx, "/a"))
		require.False(w, newest(w, states).Exists)
		for i := range 100 { // of what came and went unread, the last is there
			w.create(s, "/a", []byte{byte(i)})
			if i < 99 {
				require.NoError(w, s.Delete(w.ctx, "/a", -1))
			}
		}
		for d = (session.Data{}); !bytes.Equal(d.Bytes, []byte{99}); {
			d = bubble.Within(w, 20*time.Second, states) // it pauses where it reads in vain, again and again
		}
	})
}

func TestWatchChildrenFollowsThem(t *testing.T) {
	everywhere(t, func(w *harness, s *session.Session) {
		states := s.WatchChildren(w.ctx, "/a")
		require.False(w, newest(w, states).Exists)
		require.NoError(w, s.EnsurePath(w.ctx, "/a"))
		c := newest(w, states)
		require.True(w, c.Exists)
		require.Empty(w, c.Names)
		require.NoError(w, s.EnsurePath(w.ctx, "/a/x"))
		require.Equal(w, []string{"x"}, newest(w, states).Names)
		w.write(s, "/a", nil)
		quiet(w, states)
		require.NoError(w, s.EnsurePath(w.ctx, "/a/y"))
		require.ElementsMatch(w, []string{"x", "y"}, newest(w, states).Names)
		require.NoError(w, s.DeleteAll(w.ctx, "/a"))
		c = newest(w, states)
		for c.Exists { // its children went first
			c = newest(w, states)
		}
	})
}

func TestOneWatchForAnyNumberOfReaders(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.create(s, "/a", nil)
		w.requests()
		ctx, cancel := context.WithCancel(w.ctx)
		var readers []<-chan session.Data
		for range 100 {
			readers = append(readers, s.WatchData(ctx, "/a"))
		}
		for _, r := range readers {
			require.True(w, newest(w, r).Exists)
		}
		require.Equal(w, []string{"getData /a"}, w.requests())
		require.Equal(w, 1, session.SharedWatches(s))
		late := s.WatchData(w.ctx, "/a")
		require.True(w, newest(w, late).Exists, "the present state comes first")
		require.Empty(w, w.requests())
		w.write(s, "/a", []byte("x"))
		for _, r := range append(readers, late) {
			require.Equal(w, "x", string(newest(w, r).Bytes))
		}
		require.Equal(w, []string{"setData /a", "getData /a"}, w.requests())

		cancel()
		for _, r := range readers {
			bubble.Closed(w, r)
		}
		require.Equal(w, 1, session.SharedWatches(s), "one still reads")
		only, cancel := context.WithCancel(w.ctx)
		_ = s.WatchChildren(only, "/a")
		require.Equal(w, 2, session.SharedWatches(s))
		cancel()
		synctest.Wait()
		require.Equal(w, 1, session.SharedWatches(s))
		_, open := <-s.WatchData(only, "/a")
		require.True(w, open, "a context that is over gets what there is")
		bubble.Closed(w, s.WatchData(only, "/b"), "where no other subscriber is there is nothing")
		require.Equal(w, 1, session.SharedWatches(s))
	})
}

// B68: a change made while the connection was down is delivered after it, also if the watches can't
// be armed again at first.
func TestB68_ChangesWhileAway(t *testing.T) {
	each(t, map[string]zktest.Verdict{
		"watches armed again":        zktest.Pass,
		"arming fails":               zktest.Fail(zktest.ErrSystem),
		"arming is not answered":     zktest.DropReply,
		"arming cuts the connection": zktest.CutAfter,
	}, func(w *harness, verdict zktest.Verdict) {
		s, other := w.open(), w.open(session.WithDialer(w.srv.Host("elsewhere").Dialer()))
		require.NoError(w, s.EnsurePath(w.ctx, "/a"))
		data, children, missing := s.WatchData(w.ctx, "/a"), s.WatchChildren(w.ctx, "/a"), s.WatchData(w.ctx, "/b")
		require.True(w, newest(w, data).Exists)
		require.True(w, newest(w, children).Exists)
		require.False(w, newest(w, missing).Exists)
		w.cutOnce(verdict, func(r *zktest.Request) bool { return r.Op == zktest.OpSetWatches })
		away := true
		w.meets(zktest.CutBefore, func(r *zktest.Request) bool { return r.Op == zktest.OpConnect && away })
		w.srv.Disconnect(id(s))
		require.True(w, newest(w, data).Stale)
		require.True(w, newest(w, children).Stale)
		stale := newest(w, missing)
		require.True(w, stale.Stale && !stale.Exists)
		w.write(other, "/a", []byte("new"))
		require.NoError(w, other.EnsurePath(w.ctx, "/a/x"))
		require.NoError(w, other.EnsurePath(w.ctx, "/b"))
		w.script(func() { away = false })
		time.Sleep(9 * time.Second)
		d, c, m := newest(w, data), newest(w, children), newest(w, missing)
		require.Equal(w, "new", string(d.Bytes))
		require.Equal(w, []string{"x"}, c.Names)
		require.True(w, m.Exists)
		require.False(w, d.Stale || c.Stale || m.Stale)
		require.EqualValues(w, 1, s.Status().Epoch)
		w.write(other, "/a", []byte("newer"))
		require.Equal(w, "newer", string(newest(w, data).Bytes), "and it goes on")
	})
}

// B69: deleted and made again with the same version and the same data, while the connection was
// down or the session over: that is a change.
func TestB69_MadeAgainWithTheSameVersion(t *testing.T) {
	each(t, map[string]func(w *harness, s *session.Session){
		"disconnected": func(w *harness, s *session.Session) { w.srv.Disconnect(id(s)) },
		"expired":      func(w *harness, s *session.Session) { w.srv.Expire(id(s)) },
	}, func(w *harness, away func(w *harness, s *session.Session)) {
		s, other := w.open(), w.open()
		w.create(s, "/a", []byte("same"))
		states := s.WatchData(w.ctx, "/a")
		before := newest(w, states)
		held := true
		w.meets(zktest.CutBefore, func(r *zktest.Request) bool { return r.Op == zktest.OpConnect && held })
		away(w, s)
		require.NoError(w, other.Delete(w.ctx, "/a", -1))
		w.create(other, "/a", []byte("same"))
		require.True(w, newest(w, states).Stale)
		w.script(func() { held = false })
		time.Sleep(time.Second)
		after := newest(w, states)
		require.False(w, after.Stale)
		require.Equal(w, before.Stat.Version, after.Stat.Version)
		require.Greater(w, after.Stat.Mzxid, before.Stat.Mzxid)
		quiet(w, states)
	})
}

func TestWhatMayNotBeReadIsTriedAgain(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.create(s, "/a", []byte("x"))
		states := s.WatchData(w.ctx, "/a")
		require.True(w, newest(w, states).Exists)
		require.NoError(w, errOf(s.SetACL(w.ctx, "/a", session.AnyoneACL(session.PermWrite|session.PermAdmin), -1)))
		w.write(s, "/a", []byte("y")) // the watch does not tell a session that may not read
		w.srv.Expire(id(s))           // in the next epoch the watch reads by itself
		time.Sleep(time.Second)
		d := newest(w, states)
		require.True(w, d.Stale)
		require.Equal(w, "x", string(d.Bytes))
		time.Sleep(time.Minute)
		w.srv.Disconnect(id(s))
		time.Sleep(time.Second)
		quiet(w, states) // nothing is watched, so a connection that is back does not make it fresh
		require.NoError(w, errOf(s.SetACL(w.ctx, "/a", session.AnyoneACL(session.PermAll), -1)))
		time.Sleep(10 * time.Second)
		d = newest(w, states)
		require.False(w, d.Stale)
		require.Equal(w, "y", string(d.Bytes))
	})
}

func TestWatchesEndWithTheSession(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.create(s, "/a", nil)
		data, children, statuses := s.WatchData(w.ctx, "/a"), s.WatchChildren(w.ctx, "/a"), s.Observe(w.ctx)
		require.True(w, newest(w, data).Exists)
		require.True(w, newest(w, children).Exists)
		require.Equal(w, session.Connected, newest(w, statuses).State)
		require.NoError(w, s.Close(w.ctx))
		bubble.Closed(w, data)
		bubble.Closed(w, children)
		require.Equal(w, session.Closed, (<-statuses).State)
		bubble.Closed(w, statuses)
		require.Zero(w, session.SharedWatches(s))
	})
}

// watches is how many the server keeps for a session: of data and of children.
func (w *harness) watches(s *session.Session) int {
	w.Helper()
	w.settle()
	info, found := w.srv.Session(id(s))
	require.True(w, found)
	return info.Watches
}

func TestTenThousandSubscriptionsThatEndedLeaveNoWatch(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		w.create(s, "/parent", nil)
		w.create(s, "/parent/there", nil)
		stays := s.WatchData(w.ctx, "/parent/there")
		require.True(w, newest(w, stays).Exists)
		ctx, cancel := context.WithCancel(w.ctx)
		var all []<-chan session.Data
		for i := range 10_000 {
			path := fmt.Sprintf("/parent/%d", i)
			if i%100 == 0 {
				path = "/parent/there" // another subscriber stays
			}
			all = append(all, s.WatchData(ctx, path))
		}
		children := s.WatchChildren(ctx, "/parent")
		for _, states := range all {
			<-states
		}
		<-children
		require.Equal(w, 9902, session.WatchEntries(s))
		cancel()
		w.eventually("the session's table is empty but for one", func() bool { return session.WatchEntries(s) == 1 })
		require.Equal(w, 1, w.watches(s))
		w.srv.Disconnect(id(s))
		w.srv.ClearJournal()
		<-time.After(time.Second)
		require.Equal(w, []string{"setWatches"}, w.requests(), "of the others nothing is armed again")
		require.Equal(w, 1, w.watches(s))
		w.write(s, "/parent/there", []byte("x"))
		require.Equal(w, "x", string(newest(w, stays).Bytes))
	})
}

// unwatched are the paths of the removals that were asked for.
func (w *harness) unwatched() []string {
	w.Helper()
	w.settle()
	var paths []string
	for _, r := range w.srv.Journal() {
		if r.Op == zktest.OpRemoveWatches {
			paths = append(paths, r.Path)
		}
	}
	w.srv.ClearJournal()
	return paths
}

// A server may lack removeWatches, and say so.
func TestAServerWithoutRemoveWatchesKeepsThem(t *testing.T) {
	inBubble(t, func(w *harness) {
		s := w.open()
		defer w.meets(zktest.Fail(zktest.ErrUnimplemented), func(r *zktest.Request) bool { return r.Op == zktest.OpRemoveWatches })()
		for i := range 20 {
			ctx, cancel := context.WithCancel(w.ctx)
			<-s.WatchData(ctx, fmt.Sprint("/a", i))
			cancel()
			<-time.After(time.Minute)
		}
		require.Equal(w, session.Connected, s.Status().State)
		require.Len(w, w.unwatched(), 1, "it is not asked again and again")
		states := s.WatchData(w.ctx, "/a19")
		require.False(w, newest(w, states).Exists)
		w.create(s, "/a19", nil)
		require.True(w, newest(w, states).Exists)
	})
}

func TestAClientThatForgoesAWatchLeavesItToTheOthers(t *testing.T) {
	everywhere(t, func(w *harness, s *session.Session) {
		a, b := w.client(s), w.client(s)
		w.eventually("they know of the epoch", func() bool { return s.Status().State == session.Connected })
		w.create(s, "/a", nil)
		number := s.Status().Epoch
		for _, t := range []*client{a, b} {
			require.True(w, t.read(w, number, "/a", true).Exists)
		}
		a.Unwatch(number, "/a")
		require.Equal(w, 1, session.WatchEntries(s), "the other depends on it")
		w.write(s, "/a", nil)
		w.eventually("the other is told, and it alone", func() bool { return slices.ContainsFunc(b.news(), isFired) })
		require.False(w, slices.ContainsFunc(a.news(), isFired))
		require.True(w, a.read(w, number, "/a", true).Exists)
		a.Unwatch(number, "/a")
		a.Unwatch(number+1, "/a") // of an epoch that is not
		a.Unwatch(number, "/never")
		w.eventually("no client depends on it", func() bool { return session.WatchEntries(s) == 0 })
	})
}

func isFired(n session.ClientEvent) bool {
	_, fired := n.(session.Fired)
	return fired
}

// news is everything that the client was told.
func (t *client) news() []session.ClientEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.events)
}

// A reconnection reads nothing again: what is watched is armed again, and the servers tell what has
// changed meanwhile.
func TestAReconnectionReadsOnlyWhatHasChanged(t *testing.T) {
	inBubble(t, func(w *harness) {
		s, other := w.open(), w.open()
		var data []<-chan session.Data
		for i := range 300 {
			if i%2 == 0 {
				w.create(s, fmt.Sprintf("/%d", i), nil)
			}
			data = append(data, s.WatchData(w.ctx, fmt.Sprintf("/%d", i)))
			newest(w, data[i])
		}
		children := s.WatchChildren(w.ctx, "/")
		w.settle()
		<-children
		heal := w.srv.Partition(id(s))
		time.Sleep(4 * time.Second)
		w.write(other, "/4", []byte("changed"))
		require.NoError(w, other.Delete(w.ctx, "/6", -1))
		w.create(other, "/7", nil)
		w.srv.ClearJournal()
		w.srv.Disconnect(id(s))
		heal()
		time.Sleep(5 * time.Second)
		reads := map[string]int{}
		for _, r := range w.srv.Journal() {
			switch r.Op {
			case zktest.OpGetData, zktest.OpExists, zktest.OpGetChildren, zktest.OpGetChildren2:
				reads[r.Path]++
			}
		}
		require.Len(w, reads, 4, reads)
		for _, path := range []string{"/4", "/6", "/7", "/"} {
			require.Positive(w, reads[path], path)
		}
		require.Equal(w, "changed", string((<-data[4]).Bytes))
		require.False(w, (<-data[6]).Exists)
		require.True(w, (<-data[7]).Exists)
		fresh := <-data[8]
		require.True(w, fresh.Exists && !fresh.Stale)
		require.False(w, (<-children).Stale)
	})
}
