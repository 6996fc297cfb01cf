package lock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/bubble"
)

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
