package zktest_test

// The life of sessions at exact instants of virtual time: when they end, what prolongs them, what
// ends with them, and where they go on.

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

func TestSessionsExpireAtTheFirstTickAfterTheirTimeout(t *testing.T) {
	type row struct {
		timeout, touched time.Duration // the timeout, and when the client is heard of last
		expires          time.Duration // since the server's start
	}
	each(t, map[string]row{
		"a whole number of ticks, touched at a tick": {4 * time.Second, 0, 6 * time.Second},
		"touched right after a tick":                 {4 * time.Second, time.Nanosecond, 6 * time.Second},
		"touched right before a tick":                {4 * time.Second, 2*time.Second - 1, 6 * time.Second},
		"touched at the next tick":                   {4 * time.Second, 2 * time.Second, 8 * time.Second},
		"no whole number of ticks":                   {5 * time.Second, 0, 6 * time.Second},
		"the remainders add up":                      {5 * time.Second, time.Second, 8 * time.Second},
		"the maximum":                                {40 * time.Second, 0, 42 * time.Second},
	}, func(t *testing.T, s *zktest.Server, c row) {
		start := time.Now()
		watcher, holder := client(t, s, 40*time.Second), client(t, s, c.timeout)
		time.Sleep(c.touched)
		holder.must(t, create("/held", jute.FlagEphemeral))
		info, ok := s.Session(holder.session)
		require.True(t, ok)
		require.Equal(t, c.expires, info.Expires.Sub(start))
		require.Equal(t, []string{"/held"}, info.Ephemeral)

		time.Sleep(time.Until(start.Add(c.expires)) - 1)
		synctest.Wait()
		require.True(t, watcher.exists(t, "/held"), "a nanosecond before")
		time.Sleep(1)
		synctest.Wait()
		require.False(t, watcher.exists(t, "/held"), "at the instant")
		_, err := holder.frame()
		require.Error(t, err, "the connection is closed")
	})
}

func TestReconnectionKeepsTheSessionAndMovesItsExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		start := time.Now()
		c := client(t, s, 10*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		c.conn.Close()
		time.Sleep(9 * time.Second)
		again, err := resume(s, c, 0)
		require.NoError(t, err)
		require.Equal(t, c.session, again.session)
		expires, _ := alive(s, c)
		require.Equal(t, 20*time.Second, expires.Sub(start))

		again.conn.Close()
		again.timeout = 4000 // a shorter one ends sooner
		last, err := resume(s, again, 0)
		require.NoError(t, err)
		expires, _ = alive(s, c)
		require.Equal(t, 14*time.Second, expires.Sub(start))
		time.Sleep(time.Until(expires))
		synctest.Wait()
		_, ok := alive(s, c)
		require.False(t, ok)

		long := client(t, s, 40*time.Second)
		long.conn.Close()
		long.timeout = 4000
		_, err = resume(s, long, 0)
		require.NoError(t, err)
		expires, _ = alive(s, long)
		time.Sleep(time.Until(expires))
		synctest.Wait()
		_, ok = alive(s, long)
		require.False(t, ok, "also one that nobody would have looked for so soon")

		gone, err := resume(s, last, 0)
		require.NoError(t, err)
		require.Zero(t, gone.session, "expired")
		require.Zero(t, gone.timeout)
	})
}

// Servers with peers pass on to the leader twice a tick what they have heard: when in it differs
// from server to server, and is the same where the seed is. What was not passed on doesn't count.
func TestServersPassOnTwiceATickWhatTheyHear(t *testing.T) {
	t.Parallel()
	passed := func(seed uint64) (at time.Duration) {
		bubbleHere(t, func(t *testing.T, s *zktest.Server) {
			began := time.Now()
			c := client(t, s, 10*time.Second)
			time.Sleep(2100 * time.Millisecond)
			c.ping(t)
			expires, _ := alive(s, c)
			require.Equal(t, 12*time.Second, expires.Sub(began), "the leader hasn't heard of the ping")
			for later := expires; later.Equal(expires); later, _ = alive(s, c) {
				time.Sleep(time.Millisecond)
				synctest.Wait()
			}
			at = time.Since(began)
			require.LessOrEqual(t, at, 3101*time.Millisecond, "within half a tick")
			require.Equal(t, seed, s.Seed())
			expires, _ = alive(s, c)
			require.Equal(t, 14*time.Second, expires.Sub(began))
			c.must(t, create("/a", 0))
			defer s.Isolate()()
			time.Sleep(time.Until(expires))
			synctest.Wait()
			_, ok := alive(s, c)
			require.False(t, ok, "what was heard but not passed on doesn't count")
		}, zktest.WithServers(3), zktest.WithSeed(seed))
		return at
	}
	different := map[time.Duration]bool{}
	for seed := uint64(1); seed <= 5; seed++ {
		first, again := passed(seed), passed(seed)
		different[first] = true
		require.Equal(t, first, again)
	}
	require.GreaterOrEqual(t, len(different), 3)
}

// A session that has moved to another server can't write through its old connection any more, but
// the old server only learns of it then.
func TestASessionThatHasMovedCannotWriteThroughItsOldConnection(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		old := client(t, s, 10*time.Second, 0)
		moved, err := resume(s, old, 1)
		require.NoError(t, err)
		require.Equal(t, old.session, moved.session)
		info, _ := s.Session(old.session)
		require.Equal(t, 1, info.Front)
		require.True(t, old.exists(t, "/"), "reads are answered by the server itself")
		_, err = old.do(create("/late", 0))
		require.Error(t, err, "the connection is closed")
		require.False(t, moved.exists(t, "/late"))
		moved.must(t, create("/a", jute.FlagEphemeral))
	}, zktest.WithServers(2))
}

// B32: a server that was down, however long, keeps sessions and ephemerals, and gives every session
// its whole timeout; one that comes back without its sessions (B31) has freed what they held.
func TestAServerThatWasDownKeepsItsSessionsUnlessItLosesThem(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		c.must(t, create("/kept", 0))
		s.Kill(0)
		time.Sleep(time.Hour) // nobody is there to expire anything
		require.NoError(t, s.Restart(0))
		again, err := resume(s, c, 0)
		require.NoError(t, err)
		require.Equal(t, c.session, again.session)
		require.True(t, again.exists(t, "/held"))
		require.NoError(t, s.Restart(0))
		time.Sleep(12*time.Second - 1)
		synctest.Wait()
		_, ok := alive(s, c)
		require.True(t, ok)
		time.Sleep(1)
		synctest.Wait()
		_, ok = alive(s, c)
		require.False(t, ok, "after its whole timeout")

		c = client(t, s, 10*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		s.Kill(0)
		s.LoseSessions()
		require.NoError(t, s.Restart(0))
		again, err = resume(s, c, 0)
		require.NoError(t, err)
		require.Zero(t, again.session)
		next := client(t, s, 10*time.Second)
		require.False(t, next.exists(t, "/held"))
		require.True(t, next.exists(t, "/kept"))
	})
}

// A server that was killed with notes for the leader under way passes on what it hears after its
// restart: sessions that ping live.
func TestASessionThatPingsLivesOnAServerThatWasRestarted(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		s.Kill(0)
		require.NoError(t, s.Restart(0))
		again, err := resume(s, c, 0)
		require.NoError(t, err)
		for range 20 {
			time.Sleep(3 * time.Second)
			again.ping(t)
			require.True(t, again.exists(t, "/held"))
		}
	}, zktest.WithServers(3))
}
