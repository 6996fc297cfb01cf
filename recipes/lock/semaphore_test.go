// Semaphores: the limit that all agree on, how it changes, and who is granted beside whom.

package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
)

// Whoever observes sees who holds, also where nobody comes or goes by it.
func TestObservingASemaphore(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin := w.Host("admin").Session
		a, b, c := w.semaphore(w.Host("a"), 1), w.semaphore(w.Host("b"), 1), w.semaphore(w.Host("c"), 1)
		states := c.Observe(w.Context())
		require.Empty(w, bubble.Within(w, time.Second, states))
		holding := func() (all []bool) {
			synctest.Wait()
			for _, c := range bubble.Within(w, time.Second, states) {
				all = append(all, c.Holding)
			}
			return all
		}
		ga := w.held(a)
		require.Equal(w, []bool{true}, holding())
		w.queued(b)
		w.queued(c)
		require.Equal(w, []bool{true, false, false}, holding())
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 2))
		require.Equal(w, []bool{true, true, false}, holding())
		require.NoError(w, lock.Revoke(w.Context(), admin, bubble.Within(w, time.Second, b.Acquired()).Path()))
		bubble.Never(w, states, "what is written to a holder says nothing of the next")
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 3))
		require.Equal(w, []bool{true, true, true}, holding())
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 1))
		require.NoError(w, ga.Release(w.Context()))
		require.Equal(w, []bool{true, true}, holding(), "who holds does so beyond a lowered limit")
		require.NoError(w, c.Close(w.Context()))
		bubble.Closes(w, states)
	})
}

// B30 [kazoo#429]: a try finds what is free, whoever else is being granted at the same moment.
func TestB30_ATryFindsWhatIsFree(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		const permits = 8
		defer w.Server.Intercept(bubble.Slowly(30))()
		won := make(chan error, permits)
		for i := range permits {
			l := w.semaphore(w.Host(string(rune('a'+i))), permits)
			go func() { _, err := l.TryLock(w.Context()); won <- err }()
		}
		for range permits {
			require.NoError(w, bubble.Within(w, time.Minute, won))
		}
		_, err := w.semaphore(w.Host("last"), permits).TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		time.Sleep(time.Second)
		require.Equal(w, permits, w.nodes())
	})
}

func TestExclusiveAndSharedLocksBesideASemaphore(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		s, l := w.semaphore(w.Host("a"), 3), w.lock(w.Host("b"))
		g := w.held(s)
		w.queued(l)
		bubble.Never(w, l.Acquired(), "an exclusive lock beside a permit")
		other := w.queued(w.semaphore(w.Host("c"), 3))
		bubble.Never(w, other.Acquired(), "a permit behind an exclusive lock")
		require.NoError(w, g.Release(w.Context()))
		bubble.Within(w, time.Second, l.Acquired())
		bubble.Never(w, other.Acquired(), "a permit beside an exclusive lock")
		require.NoError(w, l.Release(w.Context()))
		bubble.Within(w, time.Second, other.Acquired())
		_, err := s.Lock(w.held(s).Context())
		require.ErrorIs(w, err, lock.ErrDeadlock)
	})
}

func TestTheLimitIsAgreed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		three := w.semaphore(h, 3)
		require.NoError(w, w.held(three).Release(w.Context()))
		five := w.semaphore(h, 5)
		_, err := five.Lock(w.Context())
		require.ErrorIs(w, err, lock.ErrLimit)
		_, err = five.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrLimit)
		require.ErrorContains(w, err, "lock: the semaphore's limit is another: it is 3, not 5")
		require.NoError(w, five.Err(), "a caller was refused; the instance goes on")
		five.Acquire()
		bubble.Within(w, time.Second, five.Done())
		require.ErrorIs(w, five.Err(), lock.ErrLimit)
		require.Zero(w, w.nodes())

		require.NoError(w, lock.SetLimit(w.Context(), h.Session, path, 5))
		three.Crash("a bug")
		require.NoError(w, w.held(three).Release(w.Context()), "who has agreed follows the change, whatever becomes of its actor")
		_, err = w.semaphore(h, 3).Lock(w.Context())
		require.ErrorIs(w, err, lock.ErrLimit, "who comes anew has to know it")
		require.NoError(w, w.held(w.semaphore(h, 5, lock.WithWeight(5))).Release(w.Context()))
	})
}

func TestALimitBelowTheWeight(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		heavy, light := w.semaphore(h, 3, lock.WithWeight(3)), w.semaphore(w.Host("b"), 3)
		g := w.held(w.semaphore(w.Host("c"), 3))
		failed := bubble.Begin(func() error { _, err := heavy.Lock(w.Context()); return err })
		synctest.Wait()
		w.queued(light)
		require.NoError(w, lock.SetLimit(w.Context(), h.Session, path, 2))
		require.ErrorIs(w, bubble.Within(w, time.Second, failed), lock.ErrLimit, "it could never be granted, and would hold up the line")
		bubble.Within(w, time.Second, light.Acquired())
		require.NoError(w, g.Release(w.Context()))
		require.NoError(w, lock.SetLimit(w.Context(), h.Session, path, 3))
		require.NoError(w, light.Release(w.Context()))
		require.NoError(w, w.held(heavy).Release(w.Context()))
	})
}

// What was read of the limit before does not refuse anybody: it may have been raised since.
func TestALimitThatWasRaisedAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin, l := w.Host("admin").Session, w.semaphore(w.Host("a"), 4, lock.WithWeight(3))
		require.NoError(w, w.held(l).Release(w.Context()))
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 2))
		_, err := l.Lock(w.Context())
		require.ErrorIs(w, err, lock.ErrLimit)
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 4))
		require.NoError(w, w.held(l).Release(w.Context()))
	})
}

func TestSetLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		require.NoError(w, lock.SetLimit(w.Context(), h.Session, "/a/new/one", 4), "it may come before the first instance")
		data, _, err := h.Get(w.Context(), "/a/new/one")
		require.NoError(w, err)
		require.Equal(w, "4", string(data))
		_, err = h.Create(w.Context(), "/empty", nil)
		require.NoError(w, err)
		require.NoError(w, lock.SetLimit(w.Context(), h.Session, "/empty", 4))
		_, err = h.Create(w.Context(), "/config", []byte("some: thing"))
		require.NoError(w, err)
		require.ErrorIs(w, lock.SetLimit(w.Context(), h.Session, "/config", 4), lock.ErrLimit, "a slip of the pen overwrites nothing")
		l, err := lock.NewSemaphore(h.Session, "/config", 4)
		require.NoError(w, err)
		_, err = l.Lock(w.Context())
		require.ErrorIs(w, err, lock.ErrLimit)
		data, _, err = h.Get(w.Context(), "/config")
		require.NoError(w, err)
		require.Equal(w, "some: thing", string(data))
	})
}
