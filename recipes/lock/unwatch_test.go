package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
)

// A waiter that gives up takes the watch of whoever stood before it back: that one may hold for
// weeks.
func TestAWaiterThatGaveUpLeavesNoWatch(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]lock.Option{"line": nil, "simple": {lock.WithLayout(lock.Simple)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				holder, h := w.Host("holder"), w.Host("waiter")
				g := w.held(w.lock(holder, opts...))
				l := w.lock(h, opts...)
				for range 3 {
					ctx, cancel := context.WithCancel(w.Context())
					refused := make(chan error, 1)
					go func() {
						_, err := l.Lock(ctx)
						refused <- err
					}()
					time.Sleep(time.Second)
					require.NotZero(w, w.watches(h))
					cancel()
					require.ErrorIs(w, bubble.Within(w, time.Second, refused), context.Canceled)
					require.Zero(w, w.watches(h))
				}
				waits := make(chan *lock.Grant, 1)
				go func() {
					mine, err := l.Lock(w.Context())
					if err == nil {
						waits <- mine
					}
				}()
				time.Sleep(time.Second)
				require.NoError(w, g.Release(w.Context()))
				require.NoError(w, bubble.Within(w, time.Second, waits).Release(w.Context()))
				require.Zero(w, w.watches(h))
			})
		})
	}
}

// watches is how many the server keeps for a host.
func (w *world) watches(h *bubble.Host) int {
	synctest.Wait()
	info, found := w.Server.Session(h.Status().SessionID)
	require.True(w, found)
	return info.Watches
}
