package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// B28 [CURATOR-75]: raising the limit wakes those who fit then; lowering it takes nothing from
// those who hold.
func TestB28_TheLimitChanges(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin := w.Host("admin").Session
		var all []*lock.Lock
		for i := range 6 {
			all = append(all, w.queued(w.semaphore(w.Host(string(rune('a'+i))), 2)))
		}
		g0, g1 := bubble.Within(w, time.Second, all[0].Acquired()), bubble.Within(w, time.Second, all[1].Acquired())
		bubble.Never(w, all[2].Acquired(), "a third of two")
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 4))
		g2, g3 := bubble.Within(w, time.Second, all[2].Acquired()), bubble.Within(w, time.Second, all[3].Acquired())
		bubble.Never(w, all[4].Acquired(), "a fifth of four")
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 1))
		synctest.Wait()
		for _, g := range []*lock.Grant{g0, g1, g2, g3} {
			require.True(w, g.Valid(), "nobody loses what he has")
		}
		for _, l := range all[:3] {
			require.NoError(w, l.Release(w.Context()))
			bubble.Never(w, all[4].Acquired(), "there are more holders than the limit, or as many")
		}
		require.NoError(w, all[3].Release(w.Context()))
		bubble.Within(w, time.Second, all[4].Acquired())
		bubble.Never(w, all[5].Acquired(), "a second of one")
		require.NoError(w, all[0].Close(w.Context()))
		again := w.queued(all[1])
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 2))
		bubble.Within(w, time.Second, all[5].Acquired())
		bubble.Never(w, again.Acquired(), "a third of two")
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
		require.NoError(w, w.held(three).Release(w.Context()), "who has agreed follows the change")
		_, err = w.semaphore(h, 3).Lock(w.Context())
		require.ErrorIs(w, err, lock.ErrLimit, "who comes anew has to know it")
		require.NoError(w, w.held(w.semaphore(h, 5, lock.WithWeight(5))).Release(w.Context()))
	})
}

// A change of the limit outlives a crash of the actor: what was agreed stays agreed.
func TestWhatWasAgreedStaysAgreedAfterAPanic(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		l := w.semaphore(h, 3)
		require.NoError(w, w.held(l).Release(w.Context()))
		require.NoError(w, lock.SetLimit(w.Context(), h.Session, path, 7))
		l.Crash("a bug")
		require.NoError(w, w.held(l).Release(w.Context()))
		require.NoError(w, l.Err())
	})
}

func TestALimitBelowTheWeight(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		heavy, light := w.semaphore(h, 3, lock.WithWeight(3)), w.semaphore(w.Host("b"), 3)
		g := w.held(w.semaphore(w.Host("c"), 3))
		failed := make(chan error, 1)
		go func() { _, err := heavy.Lock(w.Context()); failed <- err }()
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

		w.Server.ClearJournal()
		require.ErrorContains(w, lock.SetLimit(w.Context(), h.Session, path, 0), "n: 0")
		require.ErrorContains(w, lock.SetLimit(w.Context(), nil, path, 1), "s: nil session")
		require.ErrorIs(w, lock.SetLimit(w.Context(), h.Session, "locks", 1), session.ErrInvalidPath)
		requests, _ := w.traffic()
		require.Zero(w, requests)
	})
}
