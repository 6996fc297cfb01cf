package lock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestAPanicEndsThePossessionAndKeepsTheIntent(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		a, other := w.lock(h), w.lock(w.Host("b"))
		g := w.granted(a)
		a.Crash("a bug")
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrRestarted)
		require.ErrorIs(w, g.Err(), session.ErrLost)
		next := bubble.Within(w, time.Second, a.Acquired())
		require.Greater(w, next.Token(), g.Token())
		require.Equal(w, 1, w.nodes())
		require.NoError(w, a.Release(w.Context()))
		require.NoError(w, w.held(other).Release(w.Context()))
		require.Zero(w, w.nodes())
	})
}

func TestAPanicOfAWaiterKeepsItsPlaceAndItsCallers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a, b, c := w.lock(w.Host("a")), w.lock(w.Host("b")), w.lock(w.Host("c"))
		g := w.held(a)
		got := make(chan *lock.Grant)
		go func() {
			g, err := b.Lock(context.Background())
			if err != nil {
				w.Error(err)
			}
			got <- g
		}()
		synctest.Wait()
		w.queued(c)
		b.Crash(errors.New("a bug"))
		time.Sleep(time.Second)
		require.Equal(w, 3, w.nodes())
		require.NoError(w, g.Release(w.Context()))
		won := bubble.Within(w, time.Second, got)
		bubble.Never(w, c.Acquired(), "the place was lost")
		require.NoError(w, won.Release(w.Context()))
		bubble.Within(w, time.Second, c.Acquired())
	})
}

func TestTooManyPanicsEndTheLockAndNothingElse(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		a, b := w.lock(h), w.lock(h)
		w.granted(a)
		boom := errors.New("boom")
		for range 20 {
			a.Crash(boom)
		}
		bubble.Within(w, time.Minute, a.Done())
		require.ErrorIs(w, a.Err(), actors.ErrGivenUp)
		require.ErrorIs(w, a.Err(), boom)
		g, err := b.Lock(w.Context())
		require.NoError(w, err, "its znodes are deleted, nothing else is touched")
		require.Equal(w, 1, w.nodes())
		require.NoError(w, g.Release(w.Context()))
		_, err = a.Lock(w.Context())
		require.ErrorIs(w, err, boom)
		require.Equal(w, uint64(1), h.Status().Epoch)
	})
}

// Whatever is under way when the actor panics, and however often: the intent goes on, one znode
// stands, nothing is left behind.
func TestAPanicAtAnyMoment(t *testing.T) {
	t.Parallel()
	crashing(t, func(w *world, k int, crash func(h *bubble.Host, l *lock.Lock)) {
		ha := w.Host("a")
		a, b := w.lock(ha), w.lock(w.Host("b"))
		w.survivesPanic(k, a, b, func() { crash(ha, a) })
	})
}

// crashing runs a test again and again, until a lock's actor has crashed at each request that it
// makes once the test has called crash; with requests that are served at once, that are served and
// whose connection breaks then, and that take their time.
func crashing(t *testing.T, test func(w *world, k int, crash func(h *bubble.Host, l *lock.Lock))) {
	t.Helper()
	for _, fate := range []zktest.Verdict{zktest.Pass, zktest.CutAfter, zktest.Delay(time.Second)} {
		for k, met := 1, true; met; k++ {
			inBubble(t, func(w *world) {
				var reached func() bool
				test(w, k, func(h *bubble.Host, l *lock.Lock) { reached, _ = w.crashAt(h, l, k, fate) })
				met = reached()
			})
		}
	}
}

// crashAt has an actor crash at the k-th request of its session, which meets a fate. It tells
// whether it came to that.
func (w *world) crashAt(h *bubble.Host, l *lock.Lock, k int, fate zktest.Verdict) (met func() bool, stop func()) {
	id := h.Status().SessionID
	var n atomic.Int64 // the server's goroutines count, and the test reads
	stop = w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID != id || r.Op == zktest.OpPing || r.Op == zktest.OpSync || r.Op == zktest.OpConnect {
			return zktest.Pass
		}
		if n.Add(1) != int64(k) {
			return zktest.Pass
		}
		l.Crash("at request")
		return fate
	})
	w.Cleanup(stop)
	return func() bool { return n.Load() >= int64(k) }, stop
}

// survivesPanic: a waits for b, holds and releases, and its actor crashes meanwhile. Its intent
// goes on, on one znode, and nothing is left behind.
func (w *world) survivesPanic(k int, a, b *lock.Lock, crash func()) {
	w.Helper()
	before := w.held(b)
	crash()
	a.Acquire()
	time.Sleep(3 * time.Second)
	require.Equal(w, 2, w.nodes(), "k=%d", k)
	require.NoError(w, before.Release(w.Context()))
	g := bubble.Within(w, time.Minute, a.Acquired())
	require.Equal(w, 1, w.nodes(), "k=%d", k)
	err := g.Release(w.Context())
	if errors.Is(err, session.ErrRestarted) { // it crashed while it held, at the read behind its mark, say: the intent wins once more
		require.ErrorIs(w, err, session.ErrLost)
		err = bubble.Within(w, time.Minute, a.Acquired()).Release(w.Context())
	}
	require.NoError(w, err, "k=%d", k)
	require.NoError(w, a.Release(w.Context()))
	time.Sleep(3 * time.Second)
	require.NoError(w, w.held(b).Release(w.Context()), "k=%d", k)
	require.NoError(w, a.Close(w.Context()))
	require.Zero(w, w.nodes(), "k=%d", k)
}
