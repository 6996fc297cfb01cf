package session_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// watches is how many the server keeps for a session: of data and of children.
func (w *world) watches(s *session.Session) int {
	w.Helper()
	w.settle()
	info, found := w.srv.Session(id(s))
	require.True(w, found)
	return info.Watches
}

func TestTenThousandSubscriptionsThatEndedLeaveNoWatch(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		_, err := s.Create(w.ctx, "/parent", nil)
		require.NoError(w, err)
		_, err = s.Create(w.ctx, "/parent/there", nil)
		require.NoError(w, err)
		stays := s.WatchData(w.ctx, "/parent/there")
		require.True(w, newest(w, stays).Exists)
		ctx, cancel := context.WithCancel(w.ctx)
		var all []<-chan session.Data
		for i := range 10_000 {
			path := fmt.Sprintf("/parent/%d", i)
			if i%100 == 0 {
				path = "/parent/there" // somebody else stays
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
		require.Equal(w, []string{"setWatches", "getData /parent/there"}, w.requests(), "it looks again; of the others nothing is armed again")
		require.Equal(w, 1, w.watches(s))
		_, err = s.Set(w.ctx, "/parent/there", []byte("x"), -1)
		require.NoError(w, err)
		require.Equal(w, "x", string(newest(w, stays).Bytes))
	})
}

// A real server of its own, so that its watches can be counted.
func TestAServerIsLeftWithoutWatches(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	w, e := onEnsemble(t, 1)
	s := w.openOn(e.Servers())
	comesTo := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool {
			st, err := e.Stats(0)
			return err == nil && st.Watches == n // a busy server may be late to say so
		}, time.Minute, 50*time.Millisecond)
	}
	for _, n := range []int{10_000, 100} { // again, to see that nothing of the first time stands in the way
		ctx, cancel := context.WithCancel(w.ctx)
		var all []<-chan session.Data
		for i := range n {
			all = append(all, s.WatchData(ctx, fmt.Sprintf("/zookeeper/%d", i)))
		}
		<-s.WatchChildren(ctx, "/zookeeper")
		for _, states := range all {
			<-states
		}
		comesTo(n + 1)
		cancel()
		comesTo(0)
		require.Zero(t, session.WatchEntries(s))
	}
}

// unwatched are the paths of the removals that were asked for.
func (w *world) unwatched() []string {
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

func TestASubscriptionThatEndsBeforeItsAnswerLeavesNoWatch(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		held := true
		defer w.intercept(func(r *zktest.Request) zktest.Verdict {
			if held && (r.Op == zktest.OpGetData || r.Op == zktest.OpExists) {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})()
		ctx, cancel := context.WithCancel(w.ctx)
		s.WatchData(ctx, "/a")
		<-time.After(1500 * time.Millisecond) // it is known to be missing, and its birth is about to be watched
		cancel()
		<-time.After(time.Minute)
		require.Zero(w, w.watches(s))
		require.Zero(w, session.WatchEntries(s))
	})
}

func TestWhoComesWhileAWatchIsRemovedMissesNothing(t *testing.T) {
	inBubble(t, func(w *world) {
		s, other := w.open(), w.open()
		_, err := s.Create(w.ctx, "/a", []byte("one"))
		require.NoError(w, err)
		for i, change := range []string{"before it is carried out", "after", "never"} {
			ctx, cancel := context.WithCancel(w.ctx)
			<-s.WatchData(ctx, "/a")
			remove := w.intercept(func(r *zktest.Request) zktest.Verdict {
				if r.Op == zktest.OpRemoveWatches {
					return zktest.Delay(time.Second)
				}
				return zktest.Pass
			})
			cancel()
			w.settle()
			states := s.WatchData(w.ctx, "/a")
			w.settle()
			if change == "before it is carried out" {
				_, err = other.Set(w.ctx, "/a", []byte("two"), -1)
				require.NoError(w, err)
			}
			<-time.After(2 * time.Second)
			require.Len(w, w.unwatched(), 1)
			remove()
			if change == "after" {
				_, err = other.Set(w.ctx, "/a", []byte("three"), -1)
				require.NoError(w, err)
			}
			require.Equal(w, []string{"two", "three", "three"}[i], string(newest(w, states).Bytes), change)
			require.Equal(w, 1, w.watches(s), change)
			_, err = other.Set(w.ctx, "/a", []byte("later"), -1)
			require.NoError(w, err)
			require.Equal(w, "later", string(newest(w, states).Bytes), change)
			_, err = other.Set(w.ctx, "/a", []byte("three"), -1)
			require.NoError(w, err)
			newest(w, states)
			w.srv.Disconnect(id(s))
			w.settle()
			w.unwatched()
			require.NoError(w, s.Close(w.ctx))
			s = w.open()
		}
	})
}

func TestARemovalWhoseAnswerIsLostComesNotBackWithTheNextConnection(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		first, cancel := context.WithCancel(w.ctx)
		<-s.WatchData(first, "/first")
		cancel()
		w.settle()
		require.Zero(w, w.watches(s), "from here on the servers are known to have this operation")
		for i, verdict := range []zktest.Verdict{zktest.DropRequest, zktest.DropReply, zktest.CutBefore, zktest.CutAfter} {
			ctx, cancel := context.WithCancel(w.ctx)
			<-s.WatchData(ctx, fmt.Sprint("/lost", i))
			stop := w.intercept(func(r *zktest.Request) zktest.Verdict {
				if r.Op == zktest.OpRemoveWatches {
					return verdict
				}
				return zktest.Pass
			})
			cancel()
			<-time.After(time.Minute)
			require.Equal(w, session.Connected, s.Status().State)
			require.Zero(w, w.watches(s))
			require.Zero(w, session.WatchEntries(s))
			stop()
			ctx, cancel = context.WithCancel(w.ctx)
			again := s.WatchData(ctx, fmt.Sprint("/lost", i))
			require.False(w, newest(w, again).Exists)
			_, err := s.Create(w.ctx, fmt.Sprint("/lost", i), nil)
			require.NoError(w, err)
			require.True(w, newest(w, again).Exists)
			cancel()
		}
	})
}

func TestWatchesThatAreNotNeededAnyMoreAreNotArmedOnTheNextConnection(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		ctx, cancel := context.WithCancel(w.ctx)
		for i := range 300 {
			<-s.WatchData(ctx, fmt.Sprint("/a", i))
		}
		heal := w.srv.Partition(id(s))
		<-time.After(s.Status().Timeout * 3 / 4) // given up
		require.Equal(w, session.Suspended, s.Status().State)
		cancel()
		w.settle()
		heal()
		<-time.After(2 * time.Second)
		require.Equal(w, session.Connected, s.Status().State)
		require.Zero(w, w.watches(s))
		require.Zero(w, session.WatchEntries(s))
	})
}

// Servers before 3.5 know no removeWatches: they say so, or hang up.
func TestAServerWithoutRemoveWatchesKeepsThem(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]zktest.Verdict{"says so": zktest.Fail(zktest.ErrUnimplemented), "hangs up": zktest.CutBefore} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				defer w.intercept(func(r *zktest.Request) zktest.Verdict {
					if r.Op == zktest.OpRemoveWatches {
						return refusal
					}
					return zktest.Pass
				})()
				for i := range 20 {
					ctx, cancel := context.WithCancel(w.ctx)
					<-s.WatchData(ctx, fmt.Sprint("/a", i))
					cancel()
					<-time.After(time.Minute)
				}
				require.Equal(w, session.Connected, s.Status().State)
				require.LessOrEqual(w, len(w.unwatched()), 2, "it is not asked again and again")
				states := s.WatchData(w.ctx, "/a19")
				require.False(w, newest(w, states).Exists)
				_, err := s.Create(w.ctx, "/a19", nil)
				require.NoError(w, err)
				require.True(w, newest(w, states).Exists)
			})
		})
	}
}

func TestASeatThatForgoesAWatchLeavesItToTheOthers(t *testing.T) {
	everywhere(t, func(w *world, s *session.Session) {
		a, b := w.client(s), w.client(s)
		w.eventually("they know of the epoch", func() bool { return s.Status().State == session.Connected })
		_, err := s.Create(w.ctx, "/a", nil)
		require.NoError(w, err)
		number := s.Status().Epoch
		for _, t := range []*client{a, b} {
			require.True(w, t.read(w, number, "/a", true).Exists)
		}
		a.Unwatch(number, "/a")
		require.Equal(w, 1, session.WatchEntries(s), "the other depends on it")
		_, err = s.Set(w.ctx, "/a", nil, -1)
		require.NoError(w, err)
		w.eventually("the other is told, and it alone", func() bool { return slices.ContainsFunc(b.news(), isFired) })
		require.False(w, slices.ContainsFunc(a.news(), isFired))
		require.True(w, a.read(w, number, "/a", true).Exists)
		a.Unwatch(number, "/a")
		a.Unwatch(number+1, "/a") // of an epoch that is not
		a.Unwatch(number, "/never")
		w.eventually("nobody depends on it", func() bool { return session.WatchEntries(s) == 0 })
	})
}

func isFired(n session.Event) bool {
	_, fired := n.(session.Fired)
	return fired
}

// news is everything that the client was told.
func (t *client) news() []session.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.events)
}
