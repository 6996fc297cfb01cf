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

// B75: one whose server lags behind can name a contender that his server has not heard of.
func TestB75_RevokeAndBreakAreUpToDate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		servers := w.Server.Hosts()
		l, admin := w.lock(w.HostOn("a", servers[:1])), w.HostOn("b", servers[1:])
		w.Server.Lag(1, 5)
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
}
