package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// The leader, which is the second of two here, answers a sync from its own tree, which may be older
// than what a follower has answered. A transaction of its own comes behind that, whatever it finds,
// and if its answer is lost another one does.
func TestSyncQuorumIsUpToDateAtTheLeaderToo(t *testing.T) {
	inBubble(t, func(w *world) {
		on := func(i int) *session.Session {
			return w.openOn(w.srv.Hosts()[i:i+1], session.WithDialer(w.srv.Dialer()))
		}
		follower, leader := on(0), on(1)
		sees := func(s *session.Session, path string) bool {
			_, exists, err := s.Exists(w.ctx, path)
			require.NoError(w, err)
			return exists
		}
		create := func(s *session.Session, path string) {
			_, err := s.Create(w.ctx, path, nil, session.NodeACL(session.AnyoneACL(session.PermCreate)...))
			require.NoError(w, err)
		}
		w.srv.Lag(0, 100)
		create(leader, "/a")
		require.False(w, sees(follower, "/a"))
		require.NoError(w, follower.Sync(w.ctx, "/"))
		require.True(w, sees(follower, "/a"))
		w.srv.Lag(0, 0)

		for path, at := range map[string]string{"/b": "/", "/c": "/c", "/d": "/missing"} {
			w.srv.Lag(1, 100)
			create(follower, path)
			require.NoError(w, leader.Sync(w.ctx, "/"))
			require.False(w, sees(leader, path))
			lost := false
			remove := w.intercept(func(r *zktest.Request) zktest.Verdict {
				if r.Op == zktest.OpMulti && !lost {
					lost = true
					return zktest.CutBefore
				}
				return zktest.Pass
			})
			require.NoError(w, leader.SyncQuorum(w.ctx, at))
			remove()
			require.True(w, lost)
			require.True(w, sees(leader, path))
		}
		require.ErrorIs(w, leader.SyncQuorum(w.ctx, "a"), session.ErrInvalidPath)
	}, zktest.WithServers(2), zktest.WithVersion("3.8.0")) // where exists needs no permission
}
