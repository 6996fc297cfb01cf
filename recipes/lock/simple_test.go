package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

const controller = "/controller"

func (w *world) simple(h *bubble.Host, opts ...lock.Option) *lock.Lock {
	w.Helper()
	l, err := lock.New(h.Session, controller, append(opts, lock.WithLayout(lock.Simple))...)
	require.NoError(w, err)
	return l
}

// Others hold such a path by `create -e`, and so do we: whoever creates it excludes all others.
func TestSimpleExcludesAPlainCreate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, other := w.Host("a"), w.Host("b")
		l := w.simple(h, lock.WithData([]byte(`{"brokerid":1}`)))
		_, err := other.Create(w.Context(), controller, []byte(`{"brokerid":0}`), session.Ephemeral())
		require.NoError(w, err)
		_, err = l.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		line, err := l.Contenders(w.Context())
		require.NoError(w, err)
		require.Len(w, line, 1)
		require.Equal(w, other.Status().SessionID, line[0].SessionID)
		w.queued(l)
		bubble.Never(w, l.Acquired(), "two hold")
		_, err = other.Set(w.Context(), controller, []byte("unlock"), -1) // none of our business
		require.NoError(w, err)
		synctest.Wait()
		bubble.Never(w, l.Acquired(), "two hold")
		require.NoError(w, other.Delete(w.Context(), controller, -1))
		g := bubble.Within(w, time.Second, l.Acquired())
		require.Equal(w, controller, g.Path())
		_, err = other.Create(w.Context(), controller, nil, session.Ephemeral())
		require.ErrorIs(w, err, session.ErrNodeExists)
		data, stat, err := other.Get(w.Context(), controller)
		require.NoError(w, err)
		require.Equal(w, `{"brokerid":1}`, string(data), "nothing but what the application says")
		require.Equal(w, stat.Czxid, g.Token())
		require.NoError(w, l.Release(w.Context()))
		_, err = other.Create(w.Context(), controller, nil, session.Ephemeral())
		require.NoError(w, err)
	})
}

// A persistent znode in the way is held by nobody, and yet it is in the way.
func TestSimpleWaitsForAPersistentZnodeToo(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		_, err := h.Create(w.Context(), controller, nil)
		require.NoError(w, err)
		l := w.simple(h)
		l.Acquire()
		bubble.Never(w, l.Acquired(), "two hold")
		require.NoError(w, h.Delete(w.Context(), controller, -1))
		bubble.Within(w, time.Second, l.Acquired())
	})
}

// The herd, counted: with n who wait, a release costs each of them an event, a create and a read,
// but for the one who gets it.
func TestSimpleWakesAll(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		const n = 20
		g := w.held(w.simple(w.Host("head")))
		hosts := []*bubble.Host{w.Host("a"), w.Host("b"), w.Host("c"), w.Host("d")}
		won := make(chan *lock.Grant, n) // at the end of the test others win too
		for i := range n {
			l := w.simple(hosts[i%len(hosts)])
			l.Acquire()
			go func() { // ends with the test
				select {
				case g := <-l.Acquired():
					won <- g
				case <-l.Done():
				}
			}()
		}
		synctest.Wait()
		w.Server.ClearJournal()
		require.NoError(w, g.Release(w.Context()))
		next := bubble.Within(w, time.Second, won)
		require.Greater(w, next.Token(), g.Token())
		bubble.Never(w, won, "two hold")
		ops := map[string]int{}
		for _, r := range w.Server.Journal() {
			ops[r.Op.String()]++
		}
		require.Equal(w, 1, ops["delete"])
		require.Equal(w, n, ops["create2"])
		require.Equal(w, n, ops["getData"], "each has lost and watches again, but for the winner, who reads his own")
	})
}

// Somebody deletes the holder's znode and takes its place, in the same breath: the holder loses,
// and its remains harm nobody.
func TestSimpleIsDisplaced(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, other := w.Host("a"), w.Host("b")
		l := w.simple(h)
		g := w.held(l)
		synctest.Wait()
		_, err := other.Multi(w.Context(), session.DeleteOp(controller, -1), session.CreateOp(controller, nil, session.Ephemeral()))
		require.NoError(w, err)
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrDeleted)
		require.ErrorIs(w, g.Release(w.Context()), session.ErrLost)
		require.NoError(w, l.Close(w.Context()))
		stat, exists, err := other.Exists(w.Context(), controller)
		require.NoError(w, err)
		require.True(w, exists)
		require.Equal(w, other.Status().SessionID, stat.EphemeralOwner)
	})
}

// A whole life on a real server, beside somebody who uses `create -e`.
func TestSimpleOnARealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	e := ensemble.Start(t, 1)
	s, other := bubble.Open(t, e.Servers()), bubble.Open(t, e.Servers())
	l, err := lock.New(s, controller, lock.WithLayout(lock.Simple))
	require.NoError(t, err)
	_, err = other.Create(t.Context(), controller, nil, session.Ephemeral())
	require.NoError(t, err)
	l.Acquire()
	inLine(t, l)
	require.NoError(t, other.Delete(t.Context(), controller, -1))
	g := soon(t, l.Acquired(), "the first")
	_, err = other.Create(t.Context(), controller, nil, session.Ephemeral())
	require.ErrorIs(t, err, session.ErrNodeExists)
	require.NoError(t, g.Release(t.Context()))
	g = soon(t, l.Acquired(), "again")
	require.NoError(t, other.Delete(t.Context(), controller, -1))
	soon(t, g.Done(), "the end")
	require.ErrorIs(t, g.Err(), session.ErrDeleted)
	require.NoError(t, l.Close(t.Context()))
}

// Under a parent that is gone in the meantime, in a namespace that is not there yet: what is
// missing is made.
func TestSimpleMakesWhatIsAboveIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a", session.WithNamespace("/app"))
		l, err := lock.New(h.Session, "/hbase/master", lock.WithLayout(lock.Simple))
		require.NoError(w, err)
		g := w.held(l)
		require.Equal(w, "/app/hbase/master", g.Sequencer().Path)
		require.NoError(w, g.Release(w.Context()))
		require.NoError(w, h.DeleteAll(w.Context(), "/hbase"))
		require.NoError(w, w.held(l).Release(w.Context()))
	})
}
