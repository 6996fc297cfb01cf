package zktest_test

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
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
	t.Parallel()
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
		_, err = resume(s, &raw{password: make([]byte, 16), timeout: 10_000}, 1)
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
	t.Parallel()
	for name, lose := range map[string]func(s *zktest.Server){
		"killed":   func(s *zktest.Server) { s.Kill(2) },
		"stopped":  func(s *zktest.Server) { s.Stop(2) },
		"isolated": func(s *zktest.Server) { s.IsolateServer(2, 0) },
		"deposed":  func(s *zktest.Server) { s.Depose(2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *zktest.Server) {
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
		})
	}
}

// An election that loses its majority comes to nothing, and the next takes its whole time.
func TestAnElectionIsBrokenOff(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		s.Kill(2)
		time.Sleep(2 * time.Second)
		s.Kill(1)
		time.Sleep(time.Minute)
		require.NoError(t, s.Restart(1))
		time.Sleep(3*time.Second - 1)
		_, err := resume(s, &raw{password: make([]byte, 16), timeout: 10_000}, 0)
		require.ErrorIs(t, err, io.EOF)
		time.Sleep(1)
		synctest.Wait()
		client(t, s, 10*time.Second)
	}, zktest.WithServers(3), zktest.WithElection(3*time.Second))
}

// A follower that is killed and comes back is nobody's election.
func TestAFollowerMayGoWithoutAnElection(t *testing.T) {
	t.Parallel()
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

// What clients and four-letter words see of a server without a majority is what they see of a real
// one, and a session waits longer than its timeout.
func TestALostQuorumIsThatOfTheRealServers(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	e := ensemble.Start(t, 3)
	ours := zktest.Start(t, zktest.WithServers(3), zktest.WithElection(300*time.Millisecond), asVersionOf(t, e), zktest.WithTick(200*time.Millisecond),
		zktest.WithSessionTimeouts(400*time.Millisecond, time.Minute))
	for _, stays := range []int{0, 2} {
		var a, b tale
		quorumStory(t, ours, stays, &a)
		quorumStory(t, e, stays, &b)
		require.Equal(t, []string(b), []string(a), "the real servers' first")
	}
}

func quorumStory(t *testing.T, servers interface {
	Servers() []string
	Kill(i int)
	Restart(i int) error
}, stays int, told *tale,
) {
	t.Helper()
	const lasts = 6000 // ms: longer than a starved machine takes for one request
	address := servers.Servers()[stays]
	c, outcome := hello(t, address, jute.ConnectRequest{Timeout: lasts})
	told.say("opened: %s", outcome)
	c.must(t, create("/held", jute.FlagEphemeral))
	for i := range 3 {
		if i != stays {
			servers.Kill(i)
		}
	}
	c.conn.SetDeadline(time.Now().Add(patience))
	_, err := c.frame()
	told.say("connected: %s", ending(err))
	_, outcome = hello(t, address, jute.ConnectRequest{Timeout: lasts, SessionID: c.session, Password: c.password})
	told.say("resumed: %s", outcome)
	_, outcome = hello(t, address, jute.ConnectRequest{Timeout: lasts})
	told.say("new: %s", outcome)
	for _, word := range []string{"ruok", "srvr", "stat", "mntr", "cons", "conf", "dump", "wchp"} {
		told.say("%s: %q", word, shape(word, ask(t, address, word)))
	}
	<-time.After((lasts + 2000) * time.Millisecond) // real servers know no other time
	require.NoError(t, servers.Restart((stays+1)%3), "two of three")
	var again *raw
	require.Eventually(t, func() bool {
		conn := dialTCP(t, address)
		again, err = greet(conn, jute.ConnectRequest{Timeout: lasts, SessionID: c.session, Password: c.password})
		if err != nil {
			conn.Close()
		}
		return err == nil
	}, patience, 10*time.Millisecond)
	told.say("the same session: %v", again.session == c.session)
	told.say("its ephemeral: %v", again.exists(t, "/held"))
	again.must(t, jute.Request{Op: jute.OpCloseSession})
	require.NoError(t, servers.Restart((stays+2)%3))
}
