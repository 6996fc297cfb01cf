package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// B76: a revocation is seen whenever it was written, also after a release and a new grant.
func TestB76_Revoke(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin := w.Host("admin").Session
		a, b := w.lock(w.Host("a"), lock.WithData([]byte("a's data"))), w.lock(w.Host("b"))
		for range 3 {
			g := w.held(a)
			bubble.Never(w, g.Revoked(), "not asked yet")
			require.NoError(w, lock.Revoke(w.Context(), admin, g.Path()))
			bubble.Within(w, time.Second, g.Revoked())
			require.True(w, g.Valid(), "it is a request")
			data, stat, err := admin.Get(w.Context(), g.Path())
			require.NoError(w, err)
			require.Equal(w, "unlock\na's data", string(data))
			require.NoError(w, lock.Revoke(w.Context(), admin, g.Path()))
			_, again, err := admin.Get(w.Context(), g.Path())
			require.NoError(w, err)
			require.Equal(w, stat.Version, again.Version, "it is asked once")
			require.NoError(w, g.Release(w.Context()))
		}
		g := w.held(a)
		w.queued(b)
		line, err := b.Contenders(w.Context())
		require.NoError(w, err)
		require.NoError(w, lock.Revoke(w.Context(), admin, line[1].Path))
		require.NoError(w, g.Release(w.Context()))
		won := bubble.Within(w, time.Second, b.Acquired())
		bubble.Within(w, time.Second, won.Revoked())
		require.ErrorIs(w, lock.Revoke(w.Context(), admin, g.Path()), session.ErrNoNode)
	})
}

func TestBreak(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin := w.Host("admin").Session
		a := w.lock(w.Host("a"))
		deaf := w.held(a)
		began := time.Now()
		require.NoError(w, lock.Break(w.Context(), admin, deaf.Path(), 5*time.Second))
		require.Equal(w, 5*time.Second, time.Since(began))
		bubble.Within(w, time.Second, deaf.Done())
		require.ErrorIs(w, deaf.Err(), session.ErrDeleted)

		polite, released := w.held(a), make(chan error, 1)
		go func() {
			select {
			case <-polite.Revoked():
			case <-time.After(time.Minute):
				w.Error("it is never told")
			}
			time.Sleep(time.Second)
			released <- polite.Release(w.Context())
		}()
		began = time.Now()
		require.NoError(w, lock.Break(w.Context(), admin, polite.Path(), 5*time.Second))
		require.Equal(w, time.Second, time.Since(began))
		require.NoError(w, lock.Break(w.Context(), admin, polite.Path(), 5*time.Second), "gone is no error")
		require.NoError(w, bubble.Within(w, time.Second, released)) // who breaks may know of the end before the holder does
	})
}
