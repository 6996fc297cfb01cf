package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t)
		ctx := context.Background()
		s, err := session.Open(ctx, srv.Hosts(), session.WithDialer(srv.Dialer()), session.WithNamespace("/ns"))
		require.NoError(t, err)
		p, err := s.Create(ctx, "/a", []byte("x"), session.Ephemeral(), session.Sequential(), session.Protected())
		require.NoError(t, err)
		t.Log(p, s.Status())
		seat, err := s.Seat("x", func(n session.Notice) { t.Logf("%T %+v", n, n) })
		require.NoError(t, err)
		synctest.Wait()
		var path string
		seat.JoinList(1, session.Join{Parent: "/locks/l", Name: "lock-"}, func(j session.Joined) { t.Log(j); path = j.Path }, func(l session.Listed) { t.Log(l) })
		synctest.Wait()
		seat.Read(1, path, true, func(s session.Seen) { t.Log(s) })
		synctest.Wait()
		h, err := seat.Hold(1, path, 1, func(err error) { t.Log("ended", err) })
		require.NoError(t, err)
		require.True(t, h.Valid())
		time.Sleep(20 * time.Second)
		require.True(t, h.Valid())
		_, err = h.Commit(ctx, session.CreateOp("/res", nil))
		require.NoError(t, err)
		seat.Remove(1, path, func(err error) { t.Log("removed", err) })
		synctest.Wait()
		require.NoError(t, s.Close(ctx))
		<-h.Done()
	})
}
