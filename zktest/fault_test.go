package zktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

func TestExpire(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c, other := client(t, s, 10*time.Second), client(t, s, 10*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		other.must(t, jute.Request{Op: jute.OpExists, Path: "/held", Watch: true})
		s.Expire(c.session)
		events, err := other.drain()
		require.NoError(t, err)
		require.Equal(t, []jute.Event{{Type: jute.NodeDeleted, State: jute.StateConnected, Path: "/held"}}, events)
		again, err := resume(s, c, 0)
		require.NoError(t, err)
		require.Zero(t, again.session)
		s.Expire(c.session) // once more does nothing
	})
}

// What ClickHouse Keeper does: another session id, and no word that the old one is over.
func TestExpireSilently(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		s.ExpireSilently(c.session)
		again, err := resume(s, c, 0)
		require.NoError(t, err)
		require.NotZero(t, again.session)
		require.NotEqual(t, c.session, again.session)
		require.False(t, again.exists(t, "/held"))
	})
}

func TestDisconnect(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		s.Disconnect(c.session)
		_, err := c.frame()
		require.Error(t, err)
		again, err := resume(s, c, 0)
		require.NoError(t, err)
		require.True(t, again.exists(t, "/held"))
	})
}

func TestStopAndContinue(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		s.Stop(0)
		require.NoError(t, c.send(jute.Request{Xid: 1, Op: jute.OpSync, Path: "/"}))
		c.silent(t, 3*time.Second)
		_, err := resume(s, c, 0)
		require.ErrorContains(t, err, "timeout", "it can be dialed but doesn't answer")
		s.Continue(0)
		_, err = resume(s, c, 1)
		require.NoError(t, err)
	}, zktest.WithServers(2))
}

// B32: a server that was down, however long, keeps sessions and ephemerals, and gives every session
// its whole timeout.
func TestKillAndRestart(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		s.Kill(0)
		_, err := c.frame()
		require.Error(t, err)
		_, err = resume(s, c, 0)
		require.ErrorContains(t, err, "refused")
		time.Sleep(time.Hour) // nobody is there to expire anything
		require.NoError(t, s.Restart(0))
		again, err := resume(s, c, 0)
		require.NoError(t, err)
		require.Equal(t, c.session, again.session)
		require.True(t, again.exists(t, "/held"))

		restarted := time.Now()
		require.NoError(t, s.Restart(0))
		time.Sleep(12*time.Second - 1)
		synctest.Wait()
		_, ok := s.Session(c.session)
		require.True(t, ok)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		_, ok = s.Session(c.session)
		require.False(t, ok, "after its whole timeout since %v", restarted)
	})
}

// B31: a server that comes back without its sessions has freed what they held.
func TestLoseSessions(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		c.must(t, create("/kept", 0))
		s.Kill(0)
		s.LoseSessions()
		require.NoError(t, s.Restart(0))
		again, err := resume(s, c, 0)
		require.NoError(t, err)
		require.Zero(t, again.session)
		next := client(t, s, 10*time.Second)
		require.False(t, next.exists(t, "/held"))
		require.True(t, next.exists(t, "/kept"))
	})
}

// B75: a follower that lags shows what was, until a sync or a write.
func TestLag(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		near, far := client(t, s, 10*time.Second, 1), client(t, s, 10*time.Second, 0)
		s.Lag(0, 2)
		for _, path := range []string{"/1", "/2", "/3"} {
			_, err := far.do(jute.Request{Op: jute.OpExists, Path: path, Watch: true})
			require.NoError(t, err)
			near.must(t, create(path, 0))
		}
		events, err := far.drain()
		require.NoError(t, err)
		require.Len(t, events, 1)
		require.True(t, far.exists(t, "/1"))
		require.False(t, far.exists(t, "/2"))
		seen := far.seen

		far.must(t, jute.Request{Op: jute.OpSync, Path: "/"})
		events, err = far.drain()
		require.NoError(t, err)
		require.Len(t, events, 2)
		require.True(t, far.exists(t, "/3"))
		require.Equal(t, seen+2, far.seen)

		near.must(t, create("/4", 0))
		require.False(t, far.exists(t, "/4"))
		far.must(t, create("/5", 0))
		require.True(t, far.exists(t, "/4"), "a client sees its own writes, and what was before them")
		near.must(t, create("/6", 0))
		s.Lag(0, 0)
		require.True(t, far.exists(t, "/6"))
	}, zktest.WithServers(2))
}

// A leader tells its followers to commit before it does so itself, and answers a sync of its own
// clients from its own tree. What a follower has answered it shows behind a transaction, if not
// before: one that only checks, one that fails, the opening of a session.
func TestTheLeaderLags(t *testing.T) {
	t.Parallel()
	check := func(path string) jute.Request {
		return jute.Request{Op: jute.OpMulti, Ops: []jute.Request{{Op: jute.OpCheck, Path: path, Version: -1}}}
	}
	bubble(t, func(t *testing.T, s *zktest.Server) {
		near, far := client(t, s, 10*time.Second, 0), client(t, s, 10*time.Second, 2)
		for name, ordered := range map[string]func(){
			"a check":              func() { far.must(t, check("/")) },
			"a check that fails":   func() { far.must(t, check("/missing")) },
			"a write that fails":   func() { _, _ = far.do(jute.Request{Op: jute.OpDelete, Path: "/missing", Version: -1}) },
			"a session is opened":  func() { client(t, s, 10*time.Second, 2) },
			"its commits are done": func() { s.Lag(2, 0) },
		} {
			path := "/" + name
			s.Lag(2, 10)
			far.must(t, jute.Request{Op: jute.OpExists, Path: "/", Watch: true})
			near.must(t, create(path, 0))
			require.True(t, near.exists(t, path))
			far.must(t, jute.Request{Op: jute.OpSync, Path: path})
			require.False(t, far.exists(t, path), "behind a sync")
			again, err := resume(s, far, 2)
			require.NoError(t, err)
			far = again
			require.False(t, far.exists(t, path), "on another connection")
			ordered()
			require.True(t, far.exists(t, path), "behind this: %s", name)
		}
	}, zktest.WithServers(3))
}
