package zktest_test

// Several servers: majorities, elections, and leaders that were deposed.

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

// With two of three servers killed the third serves nobody, and sessions wait: they have their
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
// serve nobody; then every session has its whole timeout.
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

// A follower that is killed and comes back is nobody's election.
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

// What is seen of a real leader that was frozen, deposed and woken: it takes a session up again
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
