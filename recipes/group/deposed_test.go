package group_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// The member is created, and the connection goes before the answer comes. The only server to be had
// is a leader that was deposed, and that wakes now: it answers a sync, and shows a group in which
// the member does not stand yet. Who leaves now has not left by that.
func TestADeposedLeaderDoesNotConfirmThatAMemberHasLeft(t *testing.T) {
	t.Parallel()
	for round := range uint64(16) {
		inBubble(t, func(w *world) {
			const old = int64(0)
			var reachable atomic.Int64
			reachable.Store(1)
			observer := w.Host("observer")
			member := w.Host("member", session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr != w.Server.Hosts()[reachable.Load()] {
					return nil, errors.New("out of reach")
				}
				return w.Server.Host("member").Dialer()(ctx, network, addr)
			}))
			require.NoError(w, observer.EnsurePath(w.Context(), path))
			require.NoError(w, member.Sync(w.Context(), "/"))
			w.Server.Depose(int(old))
			time.Sleep(10 * time.Second)
			synctest.Wait()

			remove := w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
				if r.Op == zktest.OpMulti { // the member is created
					reachable.Store(old)
					return zktest.CutAfter
				}
				return zktest.Pass
			})
			m := w.join(member, "a", "x")
			synctest.Wait()
			remove()
			require.Equal(w, old, reachable.Load(), "the member was created")
			left := make(chan error, 1)
			go func() { left <- m.Leave(w.Context()) }()
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			w.Server.Continue(int(old))
			require.NoError(w, bubble.Within(w, time.Minute, left))
			require.NoError(w, observer.Sync(w.Context(), "/"))
			require.Empty(w, w.members(observer))
		}, zktest.WithServers(3), zktest.WithTick(2*time.Second), zktest.WithSeed(round+1))
	}
}
