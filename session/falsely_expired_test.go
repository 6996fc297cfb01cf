package session_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A leader that stood still for long, and was deposed, tells a client that its session has expired,
// though the others keep that with every znode. The epoch is over then, but it is not told as gone,
// nothing that was to be deleted counts as deleted, and the next epoch does not begin, before the
// znodes are.
func TestExpiredSaysADeposedLeader(t *testing.T) {
	t.Parallel()
	for name, closing := range map[string]bool{"and the session goes on": false, "and is closed": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) { w.expiredByADeposedLeader(closing) }, zktest.WithServers(3), zktest.WithTick(5*time.Second), zktest.WithSeed(1))
		})
	}
}

func (w *world) expiredByADeposedLeader(closing bool) {
	var reachable atomic.Int64
	s := w.session(session.WithTimeout(timeout), session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != w.srv.Hosts()[reachable.Load()] {
			return nil, errors.New("out of reach")
		}
		return w.srv.Dialer()(ctx, network, addr)
	}))
	require.NoError(w, s.Connect(w.ctx))
	t := w.client(s)
	h := t.hold(w, 1, "/line")
	old := id(s)
	t.told()
	w.srv.Depose(0)
	w.srv.ExpireAlone(0, old)
	w.srv.Continue(0)
	w.srv.Disconnect(old)
	select {
	case <-h.Done():
	case <-time.After(timeout / 2):
		require.Fail(w, "the server has learnt too soon that it is deposed, and said nothing")
	}
	require.ErrorIs(w, h.Err(), session.ErrLost)
	reachable.Store(1)
	removed := make(chan error, 1)
	t.Remove(1, h.Path(), func(err error) { removed <- err })
	if closing {
		require.NoError(w, s.Close(w.ctx))
		require.Error(w, <-removed, "nobody has said so")
		return
	}
	gone := func() bool { return len(w.ephemerals(old)) == 0 }
	for range 400 * timeout / time.Second { // of 10 ms
		synctest.Wait()
		select {
		case err := <-removed:
			require.NoError(w, err)
			require.True(w, gone(), "it was said to be deleted")
		default:
		}
		if told := t.told(); len(told) > 0 && told[len(told)-1] != "disconnected" {
			require.True(w, gone(), "%v", told)
			require.Contains(w, told[len(told)-1], "began 2")
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	require.Fail(w, "no second epoch")
}

// What has come into the place of a znode of an expired session may not be readable, and stay. The
// next epoch does not wait for it for ever.
func TestExpiredWithSomethingUnreadableInItsPlace(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open(session.WithTimeout(timeout))
				t := w.client(s)
				j := t.join(w, 1, session.Join{Parent: "/line", Name: "alone", Form: znode.Alone})
				require.NoError(w, j.Err)
				other := w.open(session.WithAuth("digest", []byte("other:secret")))
				require.NoError(w, s.Sync(w.ctx, "/"))
				t.told()
				w.intercept(func(r *zktest.Request) zktest.Verdict {
					if r.Op == zktest.OpConnect && r.SessionID == 0 {
						return zktest.Delay(time.Second)
					}
					return zktest.Pass
				})
				w.srv.Expire(id(s))
				_, err := other.Create(w.ctx, j.Path, nil, session.NodeACL(session.AuthACL(session.PermAll)...))
				require.NoError(w, err)
				time.Sleep(4 * timeout)
				told := t.told()
				require.NotEmpty(w, told)
				require.Contains(w, told[len(told)-1], "began 2")
			}, zktest.WithVersion(version))
		})
	}
}
