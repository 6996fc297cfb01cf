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

// side is one who stands in a line, and one who is in his way.
type side struct {
	own, rival func(w *world, h *bubble.Host) *lock.Lock
}

// sides are the kinds.
var sides = map[string]side{
	"exclusive": {func(w *world, h *bubble.Host) *lock.Lock { return w.lock(h) }, func(w *world, h *bubble.Host) *lock.Lock { return w.lock(h) }},
	"read":      {func(w *world, h *bubble.Host) *lock.Lock { return w.reader(h) }, func(w *world, h *bubble.Host) *lock.Lock { return w.writer(h) }},
	"write":     {func(w *world, h *bubble.Host) *lock.Lock { return w.writer(h) }, func(w *world, h *bubble.Host) *lock.Lock { return w.reader(h) }},
	"lease": {
		func(w *world, h *bubble.Host) *lock.Lock { return w.semaphore(h, 3, lock.WithWeight(2)) },
		func(w *world, h *bubble.Host) *lock.Lock { return w.semaphore(h, 3, lock.WithWeight(3)) },
	},
}

func eachSide(t *testing.T, test func(t *testing.T, s side)) {
	t.Helper()
	t.Parallel()
	for name, s := range sides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// Revocation is the same for every kind: it is told once, also when it was written before the grant
// or after a release.
func TestRevocationOfEachKind(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		inBubble(t, func(w *world) {
			admin := w.Host("admin").Session
			a, b := s.own(w, w.Host("a")), s.rival(w, w.Host("b"))
			for range 3 {
				g := w.held(b)
				w.queued(a)
				line, err := b.Contenders(w.Context())
				require.NoError(w, err)
				require.NoError(w, lock.Revoke(w.Context(), admin, line[1].Path), "before the grant")
				require.NoError(w, g.Release(w.Context()))
				won := bubble.Within(w, time.Second, a.Acquired())
				require.Equal(w, line[1].Path, won.Path())
				bubble.Within(w, time.Second, won.Revoked())
				require.NoError(w, a.Release(w.Context()))

				again := w.held(a)
				bubble.Never(w, again.Revoked(), "nobody asked this one")
				require.NoError(w, lock.Revoke(w.Context(), admin, again.Path()))
				bubble.Within(w, time.Second, again.Revoked())
				began := time.Now()
				require.NoError(w, lock.Break(w.Context(), admin, again.Path(), 2*time.Second))
				require.Equal(w, 2*time.Second, time.Since(began))
				bubble.Within(w, time.Second, again.Done())
				require.ErrorIs(w, again.Err(), session.ErrDeleted)
			}
		})
	})
}

// B08: tries under flapping connections leave nothing.
func TestB08_TriesOfEachKindLeaveNothing(t *testing.T) {
	eachSide(t, func(t *testing.T, s side) {
		inBubble(t, func(w *world) {
			ha := w.Host("a")
			a, b := s.own(w, ha), s.rival(w, w.Host("b"))
			g := w.held(b)
			for i := range 300 {
				if i%5 == 0 {
					w.Server.Disconnect(ha.Status().SessionID)
				}
				_, err := a.TryLock(w.Context())
				require.ErrorIs(w, err, lock.ErrHeld)
			}
			require.NoError(w, a.Close(w.Context()))
			require.Equal(w, 1, w.nodes())
			require.NoError(w, g.Release(w.Context()))
		})
	})
}
