package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

func (w *world) semaphore(h *bubble.Host, permits int, opts ...lock.Option) *lock.Lock {
	w.Helper()
	l, err := lock.NewSemaphore(h.Session, path, permits, opts...)
	require.NoError(w, err)
	return l
}

func TestASemaphoreHasItsPermits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		s1, s2, s3 := w.semaphore(h, 2, lock.WithData([]byte("one"))), w.semaphore(w.Host("b"), 2), w.semaphore(w.Host("c"), 2)
		first, second := w.held(s1), w.held(s2)
		require.Equal(w, fence.Shared, first.Sequencer().Mode)
		require.NoError(w, fence.Check(w.Context(), h.Session, first.Sequencer()))
		w.queued(s3)
		bubble.Never(w, s3.Acquired(), "a third of two permits")
		data, stat, err := h.Get(w.Context(), path)
		require.NoError(w, err)
		require.Equal(w, "2", string(data))
		require.Zero(w, stat.EphemeralOwner, "a persistent znode, no container")
		line, err := s1.Contenders(w.Context())
		require.NoError(w, err)
		require.Equal(w, []bool{true, true, false}, []bool{line[0].Holding, line[1].Holding, line[2].Holding})
		require.Equal(w, "one", string(line[0].Data))
		require.NoError(w, first.Release(w.Context()))
		third := bubble.Within(w, time.Second, s3.Acquired())
		require.Greater(w, third.Token(), second.Token())
		_, err = third.Commit(w.Context(), session.SetOp(path, []byte("2"), -1))
		require.NoError(w, err)
		require.NoError(w, second.Release(w.Context()))
		require.NoError(w, s3.Release(w.Context()))
		require.Zero(w, w.nodes())
	})
}

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
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 3))
		require.Equal(w, []bool{true, true, true}, holding())
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 1))
		require.NoError(w, ga.Release(w.Context()))
		require.Equal(w, []bool{true, true}, holding(), "who holds does so beyond a lowered limit")
		require.NoError(w, c.Close(w.Context()))
		bubble.Closes(w, states)
	})
}

// A grant of a semaphore is as revocable as every other, and its mark, on which the successor
// relies, survives whatever is written over it.
func TestRevocationOfASemaphoresHolder(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin := w.Host("admin").Session
		a, b, c := w.semaphore(w.Host("a"), 2, lock.WithData([]byte("mine"))), w.semaphore(w.Host("b"), 2), w.semaphore(w.Host("c"), 2)
		ga, gb := w.held(a), w.held(b)
		require.NoError(w, lock.Revoke(w.Context(), admin, ga.Path()))
		bubble.Within(w, time.Second, ga.Revoked())
		bubble.Never(w, gb.Revoked(), "nobody asked this one")
		data, _, err := admin.Get(w.Context(), ga.Path())
		require.NoError(w, err)
		require.Equal(w, "unlock\nheld\nmine", string(data))
		_, err = admin.Set(w.Context(), gb.Path(), []byte("unlock"), -1) // as another library would
		require.NoError(w, err)
		bubble.Within(w, time.Second, gb.Revoked())
		synctest.Wait()
		line, err := a.Contenders(w.Context())
		require.NoError(w, err)
		require.True(w, line[0].Holding)
		require.True(w, line[1].Holding)
		require.Equal(w, "unlock\nmine", string(line[0].Data))
		w.queued(c)
		require.NoError(w, ga.Release(w.Context()))
		bubble.Within(w, time.Second, c.Acquired())
		require.NoError(w, lock.Break(w.Context(), admin, gb.Path(), time.Second))
		bubble.Within(w, time.Second, gb.Done())
		require.ErrorIs(w, gb.Err(), session.ErrDeleted)
	})
}
