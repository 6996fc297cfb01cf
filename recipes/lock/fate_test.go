package lock_test

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// survivesLoss: a waits for b, holds, commits something and releases, while its host is struck. It
// comes to hold all the same, and nothing is left behind.
func (w *world) survivesLoss(k int, a, b *lock.Lock, strike func(), op session.Op) {
	w.Helper()
	waitedFor := w.held(b)
	strike()
	a.Acquire()
	time.Sleep(time.Second)
	require.NoError(w, waitedFor.Release(w.Context()))
	g := bubble.Within(w, 2*time.Minute, a.Acquired())
	require.Equal(w, 1, w.nodes(), "k=%d", k)
	_, _ = g.Commit(w.Context(), op)
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	require.NoError(w, a.Release(ctx), "k=%d", k)
	cancel()
	_, err := b.TryLock(w.Context())
	require.NoError(w, err, "k=%d: something was left behind", k)
	require.NoError(w, b.Close(w.Context()))
	require.Zero(w, w.nodes(), "k=%d", k)
}
