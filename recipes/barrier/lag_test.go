package barrier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/zktest"
)

// B75: a barrier that somebody has raised holds those who were told of it, and a round is broken
// that a party is known to wait in, also where the server lags behind. A leader, which is the
// second of two here, does not catch up at a sync.
func TestB75_WaitAndBreakAreUpToDate(t *testing.T) {
	t.Parallel()
	for lagging, name := range []string{"a follower", "the leader"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				server := func(i int) []string { return w.Server.Hosts()[i : i+1] }
				near, far := w.HostOn("a", server(1-lagging)), w.HostOn("b", server(lagging))
				a, b := w.double(near, 2, barrier.WithID("a")), w.double(far, 2, barrier.WithID("b"))
				w.Server.Lag(lagging, 100)
				require.NoError(w, w.gate(near).Raise(w.Context()))
				passed := w.waits(w.gate(far))
				time.Sleep(time.Minute)
				bubble.Never(w, passed, "it is up")
				require.NoError(w, w.gate(near).Lower(w.Context()))
				w.Server.Lag(lagging, 0)
				require.NoError(w, bubble.Within(w, time.Second, passed))

				w.Server.Lag(lagging, 100)
				waits := w.asks(a)
				synctest.Wait()
				require.NoError(w, b.Break(w.Context()))
				require.ErrorIs(w, bubble.Within(w, time.Second, waits), barrier.ErrBroken)
			}, zktest.WithServers(2))
		})
	}
}
