package lock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// fates are what can become of a request and its reply.
var fates = map[string]zktest.Verdict{
	"reply dropped": zktest.DropReply, "request dropped": zktest.DropRequest,
	"cut after": zktest.CutAfter, "cut before": zktest.CutBefore,
}

// kth lets the k-th request of a session, pings aside, meet a fate; it tells whether it came to
// that.
func (w *world) kth(h *host, k int, fate zktest.Verdict) (met func() bool) {
	id := h.Status().SessionID
	var n atomic.Int64 // the server's goroutines count, and the test reads
	w.Cleanup(w.server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID != id || r.Op == zktest.OpPing || r.Op == zktest.OpConnect {
			return zktest.Pass
		}
		if n.Add(1) == int64(k) {
			return fate
		}
		return zktest.Pass
	}))
	return func() bool { return n.Load() >= int64(k) }
}

// inEachFate runs a test again and again, until each request that a host makes once the test has
// called strike has met each fate.
func inEachFate(t *testing.T, test func(w *world, k int, strike func(h *host))) {
	t.Helper()
	for name, fate := range fates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for k, met := 1, true; met; k++ {
				inBubble(t, func(w *world) {
					var reached func() bool
					test(w, k, func(h *host) { reached = w.kth(h, k, fate) })
					met = reached()
				})
			}
		})
	}
}

// survivesLoss: a waits for b, holds, commits something and releases, while its host is struck. It
// comes to hold all the same, and nothing is left behind.
func (w *world) survivesLoss(k int, a, b *lock.Lock, strike func(), op session.Op) {
	w.Helper()
	waitedFor := w.held(b)
	strike()
	a.Acquire()
	time.Sleep(time.Second)
	require.NoError(w, waitedFor.Release(w.Context()))
	g := within(w, 2*time.Minute, a.Acquired())
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
