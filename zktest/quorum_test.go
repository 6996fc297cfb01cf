package zktest_test

// Several servers: majorities, elections, and leaders that were deposed. The life of sessions at
// exact instants: when they end, what prolongs them, what ends with them, and where they go on.

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// requireHungUp asserts that the server closes a connection at once.
func requireHungUp(t *testing.T, c *raw) {
	t.Helper()
	before := time.Now()
	c.conn.SetDeadline(patient(c.conn))
	_, err := c.frame()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, before, time.Now())
}

// With two of three servers killed the third serves no client, and sessions wait: they have their
// whole timeout from when there is a leader again.
func TestAQuorumIsLostAndSessionsWait(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		start := time.Now()
		c := client(t, s, 10*time.Second, 1)
		c.must(t, create("/held", jute.FlagEphemeral))
		s.Kill(0)
		require.True(t, c.exists(t, "/held"), "two of three are a majority")
		s.Kill(2)
		requireHungUp(t, c)
		_, err := resume(s, c, 1)
		require.ErrorIs(t, err, io.EOF)
		_, err = resume(s, newcomer(10*time.Second), 1)
		require.ErrorIs(t, err, io.EOF, "nor a new session")
		time.Sleep(time.Until(start.Add(time.Hour)))
		synctest.Wait()
		_, ok := s.Session(c.session)
		require.True(t, ok, "nobody counts its time")

		require.NoError(t, s.Restart(0))
		_, err = resume(s, c, 1)
		require.ErrorIs(t, err, io.EOF, "the election goes on")
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		info, _ := s.Session(c.session)
		require.Equal(t, time.Hour+12*time.Second, info.Expires.Sub(start), "the first tick after its whole timeout")
		again, err := resume(s, c, 1)
		require.NoError(t, err)
		require.Equal(t, c.session, again.session)
		require.True(t, again.exists(t, "/held"))
	}, zktest.WithServers(3), zktest.WithElection(500*time.Millisecond))
}

// While the others elect one in the place of a leader that was killed they drop their clients and
// serve none; then every session has its whole timeout.
func TestAnElectionTakesItsTime(t *testing.T) {
	each(t, map[string]func(s *zktest.Server){
		"killed":   func(s *zktest.Server) { s.Kill(2) },
		"stopped":  func(s *zktest.Server) { s.Stop(2) },
		"isolated": func(s *zktest.Server) { s.IsolateServer(2, 0) },
		"deposed":  func(s *zktest.Server) { s.Depose(2) },
	}, func(t *testing.T, s *zktest.Server, lose func(s *zktest.Server)) {
		start := time.Now()
		c := client(t, s, 10*time.Second)
		time.Sleep(9 * time.Second)
		lose(s)
		requireHungUp(t, c)
		for range 3 {
			_, err := resume(s, c, 1)
			require.ErrorIs(t, err, io.EOF)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		info, ok := s.Session(c.session)
		require.True(t, ok)
		require.Equal(t, 24*time.Second, info.Expires.Sub(start), "its whole timeout from the twelfth second on")
		_, err := resume(s, c, 1)
		require.NoError(t, err)
	}, zktest.WithServers(3), zktest.WithElection(3*time.Second))
}

// An election that loses its majority comes to nothing, and the next takes its whole time.
func TestAnElectionIsBrokenOff(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		s.Kill(2)
		time.Sleep(2 * time.Second)
		s.Kill(1)
		time.Sleep(time.Minute)
		require.NoError(t, s.Restart(1))
		time.Sleep(3*time.Second - 1)
		_, err := resume(s, newcomer(10*time.Second), 0)
		require.ErrorIs(t, err, io.EOF)
		time.Sleep(1)
		synctest.Wait()
		client(t, s, 10*time.Second)
	}, zktest.WithServers(3), zktest.WithElection(3*time.Second))
}

// A follower that is killed and comes back causes no election.
func TestAFollowerMayGoWithoutAnElection(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second, 1)
		s.Kill(0)
		require.NoError(t, s.Restart(0))
		s.Stop(0)
		s.Continue(0)
		s.IsolateServer(0, 0)()
		require.True(t, c.exists(t, "/"))
	}, zktest.WithServers(3), zktest.WithElection(3*time.Second))
}

// A leader that was frozen, deposed and woken behaves as a real one: it takes a session up again
// that its successor has ended, shows its old tree, answers sync alone and no write, until its next
// tick.
func TestADeposedLeaderThatWakesAnswersSyncsAloneAndNoWrite(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		waiter, rival := client(t, s, 10*time.Second, 0), client(t, s, 40*time.Second, 1)
		waiter.must(t, create("/first", jute.FlagEphemeral))
		s.Depose(0)
		deposed := time.Now()
		rival.must(t, create("/second", jute.FlagEphemeral))
		for rival.exists(t, "/first") {
			time.Sleep(time.Second)
		}
		require.GreaterOrEqual(t, time.Since(deposed), 10*time.Second, "an election gives every session its whole timeout")

		s.Continue(0)
		again, err := resume(s, waiter, 0)
		require.NoError(t, err)
		require.Equal(t, waiter.session, again.session, "the session lives, for this server")
		require.True(t, again.exists(t, "/first"))
		require.False(t, again.exists(t, "/second"), "the tree is as it was")
		again.must(t, jute.Request{Op: jute.OpSync, Path: "/"})
		require.False(t, again.exists(t, "/second"))
		require.NoError(t, again.send(jute.Request{Xid: 7, Op: jute.OpMulti, Ops: []jute.Request{{Op: jute.OpCheck, Path: "/first", Version: -1}}}))
		again.conn.SetDeadline(time.Time{})
		opened := make(chan error, 1)
		go func() { // ends when the server drops its clients
			_, err := resume(s, newcomer(10*time.Second), 0)
			opened <- err
		}()
		woken := time.Now()
		_, err = again.frame()
		require.Error(t, err, "no answer: it drops its clients when it knows")
		require.Positive(t, time.Since(woken), "the write hangs until then")
		require.LessOrEqual(t, time.Since(woken), 2*time.Second, "within a tick")
		require.Error(t, <-opened, "nor does it open a session")

		last, err := resume(s, waiter, 0)
		require.NoError(t, err)
		require.Zero(t, last.session, "now it knows that the session is over")
		require.True(t, client(t, s, 10*time.Second, 0).exists(t, "/second"))
	}, zktest.WithServers(3))
}

// A deposed leader may be isolated too. Healed before the tick at which it learns of its fall, it
// follows from then on; healed later, or restarted, it follows at once.
func TestADeposedLeaderFollowsInTheEnd(t *testing.T) {
	each(t, map[string]func(s *zktest.Server){
		"isolated before, healed before the tick": func(s *zktest.Server) {
			heal := s.IsolateServer(0, 0)
			s.Depose(0)
			s.Continue(0)
			heal()
			time.Sleep(2 * time.Second)
		},
		"isolated before, healed while it stands still": func(s *zktest.Server) {
			heal := s.IsolateServer(0, 0)
			s.Depose(0)
			heal()
			s.Continue(0)
			time.Sleep(2 * time.Second)
		},
		"isolated afterwards, healed before the tick": func(s *zktest.Server) {
			s.Depose(0)
			s.Continue(0)
			s.IsolateServer(0, 0)()
			time.Sleep(2 * time.Second)
		},
		"healed after the tick": func(s *zktest.Server) {
			heal := s.IsolateServer(0, 0)
			s.Depose(0)
			s.Continue(0)
			time.Sleep(2 * time.Second)
			heal()
		},
		"killed": func(s *zktest.Server) {
			s.Depose(0)
			_ = s.Restart(0)
		},
		"stopped again, and healed": func(s *zktest.Server) {
			heal := s.IsolateServer(0, 0)
			s.Depose(0)
			s.Continue(0)
			s.Stop(0)
			heal()
			s.Continue(0)
			time.Sleep(2 * time.Second)
		},
	}, func(t *testing.T, s *zktest.Server, healed func(s *zktest.Server)) {
		client(t, s, 10*time.Second, 1).must(t, create("/a", 0))
		healed(s)
		synctest.Wait()
		c := client(t, s, 10*time.Second, 0)
		require.True(t, c.exists(t, "/a"))
		c.must(t, create("/b", 0))
	}, zktest.WithServers(3))
}

// Nothing of it ends an isolation: who is deposed and knows it is cut off still.
func TestADeposedLeaderThatIsIsolatedStaysSo(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 40*time.Second, 1)
		heal := s.IsolateServer(0, 0)
		s.Depose(0)
		s.Continue(0)
		time.Sleep(3 * time.Second)
		c.must(t, create("/a", 0))
		opened := make(chan error, 1)
		go func() { // ends when there is a session
			_, err := resume(s, newcomer(10*time.Second), 0)
			opened <- err
		}()
		time.Sleep(5 * time.Second)
		require.Empty(t, opened)
		heal()
		require.NoError(t, <-opened)
	}, zktest.WithServers(3))
}

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

// Servers with peers tell the leader twice a tick which sessions they have heard of. The moment
// within the tick differs from server to server, and is the same for the same seed. Sessions that
// were not passed on don't count as heard of.
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

// B32: a server that was down, however long, keeps sessions and ephemerals, and gives every session
// its whole timeout; one that comes back without its sessions (B31) has freed what they held.
func TestAServerThatWasDownKeepsItsSessionsUnlessItLosesThem(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		c.must(t, create("/held", jute.FlagEphemeral))
		c.must(t, create("/kept", 0))
		s.Kill(0)
		time.Sleep(time.Hour) // no server is there to expire anything
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
