package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B75: one whose server lags behind can name a contender that its server has not heard of. A
// leader, which is the second of two here, does not catch up at a sync.
func TestB75_RevokeAndBreakAreUpToDate(t *testing.T) {
	t.Parallel()
	for lagging, name := range []string{"a follower", "the leader"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				server := func(i int) []string { return w.Server.Hosts()[i : i+1] }
				l, admin := w.lock(w.HostOn("a", server(1-lagging))), w.HostOn("b", server(lagging))
				w.Server.Lag(lagging, 5)
				g := w.held(l)
				require.NoError(w, lock.Revoke(w.Context(), admin.Session, g.Path()))
				bubble.Within(w, time.Second, g.Revoked())
				require.NoError(w, g.Release(w.Context()))

				g = w.held(l)
				require.NoError(w, lock.Break(w.Context(), admin.Session, g.Path(), 0))
				bubble.Within(w, time.Second, g.Done())
				require.ErrorIs(w, g.Err(), session.ErrDeleted)
				require.ErrorIs(w, lock.Revoke(w.Context(), admin.Session, g.Path()), session.ErrNoNode)
			}, zktest.WithServers(2))
		})
	}
}
