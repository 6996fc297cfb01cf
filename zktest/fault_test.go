package zktest_test

import (
	"context"
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

func TestPartition(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		start := time.Now()
		c, other := client(t, s, 10*time.Second), client(t, s, 40*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		heal := s.Partition(c.session)
		require.NoError(t, c.send(create("/late", 0)))
		c.silent(t, 5*time.Second)
		require.False(t, other.exists(t, "/late"))

		dialed := make(chan error, 1)
		go func() {
			_, err := resume(s, c, 0)
			dialed <- err
		}()
		time.Sleep(time.Until(start.Add(12*time.Second)) - 1)
		require.True(t, other.exists(t, "/held"))
		time.Sleep(1)
		synctest.Wait()
		require.False(t, other.exists(t, "/held"), "the session expires in time")
		c.silent(t, time.Second) // and its client doesn't know
		require.ErrorContains(t, <-dialed, "timeout")

		heal()
		heal()
		_, err := c.frame()
		require.Error(t, err, "now it knows")
		require.False(t, other.exists(t, "/late"))
	})
}

func TestAShortPartitionOnlyDelays(t *testing.T) {
	t.Parallel()
	for _, d := range []zktest.Direction{zktest.Both, zktest.ToServer, zktest.FromServer} {
		bubble(t, func(t *testing.T, s *zktest.Server) {
			c, other := client(t, s, 10*time.Second), client(t, s, 40*time.Second)
			heal := s.PartitionOneWay(c.session, d)
			require.NoError(t, c.send(create("/a", 0)))
			synctest.Wait()
			require.Equal(t, d == zktest.FromServer, other.exists(t, "/a"))
			time.AfterFunc(3*time.Second, heal)
			before := time.Now()
			frame, err := c.frame()
			require.NoError(t, err)
			require.Equal(t, 3*time.Second, time.Since(before))
			var p jute.Reply
			r := jute.NewReader(frame)
			require.NoError(t, p.DecodeHeader(r))
			require.NoError(t, p.DecodeBody(r, jute.OpCreate))
			require.Equal(t, "/a", p.Path)
		})
	}
}

func TestAHostIsCutOffAsAWhole(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		dial := s.Host("a").Dialer()
		conn, err := dial(context.Background(), "tcp", s.Hosts()[0])
		require.NoError(t, err)
		c, err := greet(conn, jute.ConnectRequest{Timeout: 10000, Password: make([]byte, 16)})
		require.NoError(t, err)
		heal := s.Host("a").Partition()
		require.NoError(t, c.send(create("/a", 0)))
		c.silent(t, time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = dial(ctx, "tcp", s.Hosts()[0])
		require.ErrorIs(t, err, context.DeadlineExceeded)
		other, err := s.Host("b").Dialer()(context.Background(), "tcp", s.Hosts()[0])
		require.NoError(t, err)
		other.Close()

		time.AfterFunc(time.Second, heal)
		late, err := dial(context.Background(), "tcp", s.Hosts()[0])
		require.NoError(t, err)
		late.Close()
		c.conn.SetDeadline(time.Time{})
		_, err = c.frame()
		require.NoError(t, err)
	})
}

func TestIsolatedServerAnswersPingsAndReadsWhileItsSessionsExpire(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		holder, rival := client(t, s, 10*time.Second, 0), client(t, s, 40*time.Second, 1)
		holder.must(t, create("/held", jute.FlagEphemeral))
		start := time.Now()
		heal := s.Isolate()
		for range 15 {
			time.Sleep(time.Second)
			holder.ping(t)
			require.True(t, holder.exists(t, "/held"), "it is shown the tree as it was")
		}
		require.Equal(t, 15*time.Second, time.Since(start))
		require.False(t, rival.exists(t, "/held"), "the leader has expired the session")

		require.NoError(t, holder.send(jute.Request{Xid: 99, Op: jute.OpSync, Path: "/"}))
		require.NoError(t, holder.send(jute.Request{Xid: jute.XidPing, Op: jute.OpPing}))
		holder.silent(t, 5*time.Second) // the ping waits behind the sync
		heal()
		_, err := holder.frame()
		require.Error(t, err, "it learns that it is over")
	}, zktest.WithServers(2))
}

func TestAShortIsolationOnlyDelays(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		a, b := client(t, s, 10*time.Second, 0), client(t, s, 10*time.Second, 1)
		_, err := a.do(jute.Request{Op: jute.OpExists, Path: "/b", Watch: true})
		require.NoError(t, err)
		heal := s.Isolate()
		b.must(t, create("/b", 0))
		events, err := a.drain()
		require.NoError(t, err)
		require.Empty(t, events, "it hasn't heard of it")
		time.AfterFunc(2*time.Second, heal)
		before := time.Now()
		a.must(t, create("/a", 0))
		require.Equal(t, 2*time.Second, time.Since(before))
		require.Len(t, a.events, 1)
		require.True(t, b.exists(t, "/a"))
		require.True(t, a.exists(t, "/b"))
	}, zktest.WithServers(3))
}

func TestAnIsolatedServerGivesUpAfterItsLimit(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 30*time.Second)
		heal := s.IsolateServer(0, 10*time.Second)
		before := time.Now()
		c.conn.SetDeadline(time.Time{})
		_, err := c.frame()
		require.Error(t, err)
		require.Equal(t, 10*time.Second, time.Since(before))
		_, err = resume(s, c, 0)
		require.Error(t, err)
		again, err := resume(s, c, 1)
		require.NoError(t, err)
		require.Equal(t, c.session, again.session)
		heal()
		_, err = resume(s, c, 0)
		require.NoError(t, err)
	}, zktest.WithServers(2))
}

func TestServersPassOnTwiceATickWhatTheyHear(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		start := time.Now()
		c := client(t, s, 10*time.Second)
		time.Sleep(2500 * time.Millisecond)
		c.ping(t)
		info, _ := s.Session(c.session)
		require.Equal(t, 12*time.Second, info.Expires.Sub(start), "the leader hasn't heard of the ping")
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		info, _ = s.Session(c.session)
		require.Equal(t, 14*time.Second, info.Expires.Sub(start))
		c.must(t, create("/a", 0))
		heal := s.Isolate()
		time.Sleep(time.Until(info.Expires))
		synctest.Wait()
		_, ok := s.Session(c.session)
		require.False(t, ok, "what was heard but not passed on doesn't count")
		heal()
	}, zktest.WithServers(3))
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

func TestLag(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		near, far := client(t, s, 10*time.Second, 0), client(t, s, 10*time.Second, 1)
		s.Lag(1, 2)
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
		s.Lag(1, 0)
		require.True(t, far.exists(t, "/6"))
	}, zktest.WithServers(2))
}
