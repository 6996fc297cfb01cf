package session_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func (t *client) watch(w *world, epoch uint64, path string) error {
	w.Helper()
	return wait(w, func(done func(error)) { t.Watch(epoch, path, done) })
}

// heard are the events of watches since it was last asked, until the last of them is this one.
func (t *client) heard(w *world, last string) []string {
	w.Helper()
	var events []string
	w.eventually(last, func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		events = nil
		for _, n := range t.events {
			if n, ok := n.(session.Fired); ok {
				events = append(events, brief(n))
			}
		}
		return len(events) > 0 && events[len(events)-1] == last
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events, t.times = nil, nil
	return events
}

func (w *world) make(s *session.Session, paths ...string) {
	w.Helper()
	for _, path := range paths {
		_, err := s.Create(w.ctx, path, nil)
		require.NoError(w, err)
	}
}

func (w *world) setData(s *session.Session, path string) {
	w.Helper()
	_, err := s.Set(w.ctx, path, nil, -1)
	require.NoError(w, err)
}

// A watch tells of every change of the znode and of all below it, to all who have asked for it,
// beside the watches that reads have armed below.
func TestATreeIsWatched(t *testing.T) {
	everywhere(t, func(w *world, s *session.Session) {
		a, b := w.client(s), w.client(s)
		for _, t := range []*client{a, b} {
			w.eventually("the epoch is known", func() bool { return !at[session.EpochBegan](t).IsZero() })
		}
		require.NoError(w, a.watch(w, 1, "/tree"))
		require.NoError(w, b.watch(w, 1, "/tree"))
		w.make(s, "/tree", "/treetop", "/tree/x")
		require.NoError(w, a.list(w, 1, "/tree/x", true).Err)
		require.True(w, b.read(w, 1, "/tree/x", true).Exists)
		w.make(s, "/tree/x/y")
		w.setData(s, "/tree/x")
		w.setData(s, "/tree/x")
		require.NoError(w, s.Delete(w.ctx, "/tree/x/y", -1))
		want := []string{
			"fired NodeCreated /tree", "fired NodeCreated /tree/x", "fired NodeCreated /tree/x/y", "fired NodeDataChanged /tree/x",
			"fired NodeDataChanged /tree/x", "fired NodeDeleted /tree/x/y",
		}
		heard := a.heard(w, want[5])
		require.Contains(w, heard, "fired NodeChildrenChanged /tree/x", "of the listing")
		require.Equal(w, want, slices.DeleteFunc(heard, func(e string) bool { return e == "fired NodeChildrenChanged /tree/x" }))
		heard = b.heard(w, want[5]) // of the first change of /tree/x perhaps twice
		require.Equal(w, slices.Compact(slices.Clone(want)), slices.Compact(heard))
		a.Unwatch(1, "/tree")
		w.setData(s, "/tree")
		b.heard(w, "fired NodeDataChanged /tree")
		b.Leave()
		w.eventually("nobody depends on it", func() bool { return session.Trees(s) == 0 })
		require.NoError(w, a.watch(w, 1, "/tree"), "and again")
		w.setData(s, "/tree")
		require.Equal(w, []string{"fired NodeDataChanged /tree"}, a.heard(w, "fired NodeDataChanged /tree"))
		require.ErrorIs(w, a.watch(w, 2, "/tree"), session.ErrExpired, "an epoch that has not begun")
	})
}

// A watch goes with its connection, and those who depend on it are told, behind that.
func TestATreeGoesWithItsConnection(t *testing.T) {
	inBubble(t, func(w *world) {
		s, other := w.open(), w.open()
		t := w.client(s)
		require.NoError(w, t.watch(w, 1, "/tree"))
		t.told()
		w.srv.Disconnect(id(s))
		time.Sleep(time.Second)
		require.Equal(w, []string{"disconnected", "fired PersistentWatchRemoved /tree", "reconnected"}, t.told())
		w.make(other, "/tree")
		require.Empty(w, t.told())
		require.NoError(w, t.watch(w, 1, "/tree"))
		w.setData(other, "/tree")
		require.Equal(w, []string{"fired NodeDataChanged /tree"}, t.told())
		require.Equal(w, 1, session.Trees(s))
		require.NoError(w, s.Close(w.ctx))
	})
}

// Whatever becomes of the request or its answer, the watch stands when it is answered.
func TestATreeWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, fate := range fates {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s, other := w.open(), w.open()
				t := w.client(s)
				w.cutOnce(fate, func(r *zktest.Request) bool { return r.Op == zktest.OpAddWatch })
				require.NoError(w, t.watch(w, 1, "/tree"))
				t.told()
				w.make(other, "/tree")
				require.Equal(w, []string{"fired NodeCreated /tree"}, t.told())
			})
		})
	}
}

// ZooKeeper before 3.6 says that it does not know the request, or hangs up.
func TestATreeOnAnOldServer(t *testing.T) {
	t.Parallel()
	for name, verdict := range map[string]zktest.Verdict{"says so": zktest.Fail(zktest.ErrUnimplemented), "hangs up": zktest.CutBefore} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				t := w.client(s)
				w.intercept(func(r *zktest.Request) zktest.Verdict {
					if r.Op == zktest.OpAddWatch {
						return verdict
					}
					return zktest.Pass
				})
				for range 2 {
					require.ErrorIs(w, t.watch(w, 1, "/tree"), session.ErrUnsupported)
				}
				w.requests()
				require.ErrorIs(w, t.watch(w, 1, "/tree"), session.ErrUnsupported)
				require.Empty(w, w.requests(), "it is remembered")
				require.Zero(w, session.Trees(s))
			})
		})
	}
}

// Before 3.9 there is one watch for each path and connection. A read of the path with a watch takes
// the place of a tree, at whatever moment it comes, and none of the two is silent.
func TestATreeMakesWayForAReadWithAWatch(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.8.0", "3.9.6"} {
		for moment, pause := range map[string]time.Duration{"before": -1, "meanwhile": 0, "after": time.Second} {
			t.Run(version+" "+moment, func(t *testing.T) {
				inBubble(t, func(w *world) {
					s, other := w.open(), w.open()
					t, rival := w.client(s), w.client(s)
					w.make(other, "/tree")
					w.intercept(func(r *zktest.Request) zktest.Verdict {
						if r.SessionID == id(s) && r.Op == zktest.OpAddWatch {
							return zktest.Delay(100 * time.Millisecond)
						}
						return zktest.Pass
					})
					var outcome []error
					begin := func() { t.Watch(1, "/tree", func(err error) { w.script(func() { outcome = append(outcome, err) }) }) }
					if pause >= 0 {
						begin()
						time.Sleep(pause)
					}
					rival.List(1, "/tree", true, func(session.Listed) {})
					rival.Read(1, "/tree", true, func(session.Seen) {})
					if pause < 0 {
						begin()
					}
					time.Sleep(time.Second)
					events := t.told()
					if moment == "after" {
						require.Equal(w, []error{nil}, outcome)
						require.Equal(w, []string{"began 1", "fired PersistentWatchRemoved /tree"}, events)
					} else {
						require.Len(w, outcome, 1)
						require.ErrorIs(w, outcome[0], session.ErrUnsupported)
						require.Equal(w, []string{"began 1"}, events)
					}
					rival.told()
					w.make(other, "/tree/x")
					w.setData(other, "/tree")
					require.Equal(w, []string{"fired NodeChildrenChanged /tree", "fired NodeDataChanged /tree"}, rival.told())
					require.Empty(w, t.told())
					require.NoError(w, t.watch(w, 1, "/tree"), "nobody reads it any more")
					w.setData(other, "/tree/x")
					require.Equal(w, []string{"fired NodeDataChanged /tree/x"}, t.told())
				}, zktest.WithVersion(version))
			})
		}
	}
}

// Who takes it back before the answer is answered, and told of nothing.
func TestATreeThatIsForgoneMeanwhile(t *testing.T) {
	inBubble(t, func(w *world) {
		s, other := w.open(), w.open()
		t := w.client(s)
		n := 0
		t.Watch(1, "/tree", func(error) { w.script(func() { n++ }) })
		t.Unwatch(1, "/tree")
		synctest.Wait()
		require.Equal(w, 1, n)
		t.told()
		w.make(other, "/tree")
		require.Empty(w, t.told())
		require.Zero(w, session.Trees(s))
		require.Zero(w, w.watches(s))
		t.Watch(1, "/tree", func(err error) { w.script(func() { n++ }) })
		require.NoError(w, s.Close(w.ctx))
		require.Equal(w, 2, n)
		require.ErrorIs(w, t.watch(w, 1, "/tree"), session.ErrClosed)
	})
}
