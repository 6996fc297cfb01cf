package zktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

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
		time.Sleep(time.Second) // half a tick: when in it the server passes on is drawn at random
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
