package session_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// newest is what a subscription has when everything has settled.
func newest[T any](w *world, states <-chan T) T {
	w.Helper()
	w.settle()
	var patience <-chan time.Time
	if w.srv == nil {
		patience = time.After(20 * time.Second)
	} else {
		now := make(chan time.Time)
		close(now)
		select {
		case s, open := <-states:
			require.True(w, open)
			return s
		default:
			patience = now
		}
	}
	select {
	case s, open := <-states:
		require.True(w, open)
		return s
	case <-patience:
		require.Fail(w, "no news")
	}
	panic("unreachable")
}

// quiet: nothing has happened that a subscription would tell.
func quiet[T any](w *world, states <-chan T) {
	w.Helper()
	w.settle()
	select {
	case s, open := <-states:
		require.Fail(w, "news", "%v %v", s, open)
	default:
	}
}

func TestWatchDataFollowsAZnodeThroughItsLives(t *testing.T) {
	everywhere(t, func(w *world, s *session.Session) {
		states := s.WatchData(w.ctx, "/a")
		require.Equal(w, session.Data{}, newest(w, states), "missing, and known to be")
		_, err := s.Create(w.ctx, "/a", []byte("one"))
		require.NoError(w, err)
		d := newest(w, states)
		require.True(w, d.Exists)
		require.Equal(w, "one", string(d.Bytes))
		_, err = s.Set(w.ctx, "/a", []byte("two"), -1)
		require.NoError(w, err)
		require.Equal(w, "two", string(newest(w, states).Bytes))
		_, err = s.Create(w.ctx, "/a/child", nil)
		require.NoError(w, err)
		quiet(w, states)
		require.NoError(w, s.DeleteAll(w.ctx, "/a"))
		require.False(w, newest(w, states).Exists)
		for i := range 100 { // of what came and went unread, the last is there
			_, err := s.Create(w.ctx, "/a", []byte{byte(i)})
			require.NoError(w, err)
			if i < 99 {
				require.NoError(w, s.Delete(w.ctx, "/a", -1))
			}
		}
		d = newest(w, states)
		for !bytes.Equal(d.Bytes, []byte{99}) { // in a bubble the first is the last
			d = newest(w, states)
		}
	})
}

func TestWatchChildrenFollowsThem(t *testing.T) {
	everywhere(t, func(w *world, s *session.Session) {
		states := s.WatchChildren(w.ctx, "/a")
		require.False(w, newest(w, states).Exists)
		require.NoError(w, s.EnsurePath(w.ctx, "/a"))
		c := newest(w, states)
		require.True(w, c.Exists)
		require.Empty(w, c.Names)
		require.NoError(w, s.EnsurePath(w.ctx, "/a/x"))
		require.Equal(w, []string{"x"}, newest(w, states).Names)
		_, err := s.Set(w.ctx, "/a", nil, -1)
		require.NoError(w, err)
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
	inBubble(t, func(w *world) {
		s := w.open()
		_, err := s.Create(w.ctx, "/a", nil)
		require.NoError(w, err)
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
		_, err = s.Set(w.ctx, "/a", []byte("x"), -1)
		require.NoError(w, err)
		for _, r := range append(readers, late) {
			require.Equal(w, "x", string(newest(w, r).Bytes))
		}
		require.Equal(w, []string{"setData /a", "getData /a"}, w.requests())

		cancel()
		for _, r := range readers {
			_, open := <-r
			require.False(w, open)
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
	})
}

// B68: a change made while the connection was down is delivered after it, also if the watches can't
// be armed again at first.
func TestB68_ChangesWhileAway(t *testing.T) {
	t.Parallel()
	for name, verdict := range map[string]zktest.Verdict{
		"watches armed again":        zktest.Pass,
		"arming fails":               zktest.Fail(zktest.ErrSystem),
		"arming is not answered":     zktest.DropReply,
		"arming cuts the connection": zktest.CutAfter,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s, other := w.open(), w.open(session.WithDialer(w.srv.Host("elsewhere").Dialer()))
				require.NoError(w, s.EnsurePath(w.ctx, "/a"))
				data, children, missing := s.WatchData(w.ctx, "/a"), s.WatchChildren(w.ctx, "/a"), s.WatchData(w.ctx, "/b")
				require.True(w, newest(w, data).Exists)
				require.True(w, newest(w, children).Exists)
				require.False(w, newest(w, missing).Exists)
				w.cutOnce(verdict, func(r *zktest.Request) bool { return r.Op == zktest.OpSetWatches })
				away := true
				w.intercept(func(r *zktest.Request) zktest.Verdict {
					if r.Op == zktest.OpConnect && away {
						return zktest.CutBefore
					}
					return zktest.Pass
				})
				w.srv.Disconnect(id(s))
				require.True(w, newest(w, data).Stale)
				require.True(w, newest(w, children).Stale)
				stale := newest(w, missing)
				require.True(w, stale.Stale && !stale.Exists)
				_, err := other.Set(w.ctx, "/a", []byte("new"), -1)
				require.NoError(w, err)
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
				_, err = other.Set(w.ctx, "/a", []byte("newer"), -1)
				require.NoError(w, err)
				require.Equal(w, "newer", string(newest(w, data).Bytes), "and it goes on")
			})
		})
	}
}

// B69: deleted and made again with the same version and the same data, while nobody looked: that is
// a change.
func TestB69_MadeAgainWithTheSameVersion(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(w *world, s *session.Session){
		"disconnected": func(w *world, s *session.Session) { w.srv.Disconnect(id(s)) },
		"expired":      func(w *world, s *session.Session) { w.srv.Expire(id(s)) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s, other := w.open(), w.open()
				_, err := s.Create(w.ctx, "/a", []byte("same"))
				require.NoError(w, err)
				states := s.WatchData(w.ctx, "/a")
				before := newest(w, states)
				held := true
				w.intercept(func(r *zktest.Request) zktest.Verdict {
					if r.Op == zktest.OpConnect && held {
						return zktest.CutBefore
					}
					return zktest.Pass
				})
				away(w, s)
				require.NoError(w, other.Delete(w.ctx, "/a", -1))
				_, err = other.Create(w.ctx, "/a", []byte("same"))
				require.NoError(w, err)
				require.True(w, newest(w, states).Stale)
				w.script(func() { held = false })
				time.Sleep(time.Second)
				after := newest(w, states)
				require.False(w, after.Stale)
				require.Equal(w, before.Stat.Version, after.Stat.Version)
				require.Greater(w, after.Stat.Mzxid, before.Stat.Mzxid)
				quiet(w, states)
			})
		})
	}
}

func TestWatchesGoOnThroughExpiry(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		_, err := s.Create(w.ctx, "/a", []byte("x"))
		require.NoError(w, err)
		data, children := s.WatchData(w.ctx, "/a"), s.WatchChildren(w.ctx, "/")
		require.True(w, newest(w, data).Exists)
		names := newest(w, children).Names
		for epoch := 1; epoch < 10; epoch++ {
			require.EqualValues(w, epoch, s.Status().Epoch)
			w.srv.Expire(id(s))
			d, c := <-data, <-children
			for d.Stale {
				d = <-data
			}
			for c.Stale {
				c = <-children
			}
			require.Equal(w, "x", string(d.Bytes))
			require.ElementsMatch(w, names, c.Names)
		}
		require.Equal(w, 2, session.WatchEntries(s))
	})
}

func TestWhatMayNotBeReadIsTriedAgain(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		_, err := s.Create(w.ctx, "/a", []byte("x"))
		require.NoError(w, err)
		states := s.WatchData(w.ctx, "/a")
		require.True(w, newest(w, states).Exists)
		_, err = s.SetACL(w.ctx, "/a", session.AnyoneACL(session.PermWrite|session.PermAdmin), -1)
		require.NoError(w, err)
		_, err = s.Set(w.ctx, "/a", []byte("y"), -1) // of which one who may not read is not told
		require.NoError(w, err)
		w.srv.Disconnect(id(s)) // after which the watch looks for itself
		time.Sleep(time.Second)
		d := newest(w, states)
		require.True(w, d.Stale)
		require.Equal(w, "x", string(d.Bytes))
		time.Sleep(time.Minute)
		_, err = s.SetACL(w.ctx, "/a", session.AnyoneACL(session.PermAll), -1)
		require.NoError(w, err)
		time.Sleep(10 * time.Second)
		d = newest(w, states)
		require.False(w, d.Stale)
		require.Equal(w, "y", string(d.Bytes))
	})
}

func TestWatchesEndWithTheSession(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		_, err := s.Create(w.ctx, "/a", nil)
		require.NoError(w, err)
		data, children, statuses := s.WatchData(w.ctx, "/a"), s.WatchChildren(w.ctx, "/a"), s.Observe(w.ctx)
		require.True(w, newest(w, data).Exists)
		require.True(w, newest(w, children).Exists)
		require.Equal(w, session.Connected, newest(w, statuses).State)
		require.NoError(w, s.Close(w.ctx))
		_, open := <-data
		require.False(w, open)
		_, open = <-children
		require.False(w, open)
		require.Equal(w, session.Closed, (<-statuses).State)
		_, open = <-statuses
		require.False(w, open)
		require.Zero(w, session.SharedWatches(s))
	})
}
