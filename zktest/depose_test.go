package zktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// What is seen of a real leader that was frozen, deposed and woken: it takes a session up again
// that its successor has ended, shows its old tree, answers sync alone and no write, until its next
// tick.
func TestADeposedLeaderThatWakesAnswersSyncsAloneAndNoWrite(t *testing.T) {
	t.Parallel()
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
		woken := time.Now()
		_, err = again.frame()
		require.Error(t, err, "no answer: it drops its clients when it knows")
		require.LessOrEqual(t, time.Since(woken), 2*time.Second, "within a tick")

		last, err := resume(s, waiter, 0)
		require.NoError(t, err)
		require.Zero(t, last.session, "now it knows that the session is over")
		require.True(t, client(t, s, 10*time.Second, 0).exists(t, "/second"))
	}, zktest.WithServers(3))
}

func TestADeposedLeaderOpensNoSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		s.Depose(2)
		s.Continue(2)
		before := time.Now()
		_, err := resume(s, &raw{timeout: 10_000}, 2)
		require.Error(t, err, "it hangs until the server drops its clients")
		require.LessOrEqual(t, time.Since(before), 2*time.Second)
		client(t, s, 10*time.Second, 2) // it follows
	}, zktest.WithServers(3))
}

// A deposed leader may be isolated too. Healed before the tick at which it learns of its fall, it
// follows from then on; healed later, it follows at once.
func TestADeposedLeaderIsIsolatedToo(t *testing.T) {
	t.Parallel()
	for name, healed := range map[string]func(s *zktest.Server){
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
		"stopped again, and healed": func(s *zktest.Server) {
			heal := s.IsolateServer(0, 0)
			s.Depose(0)
			s.Continue(0)
			s.Stop(0)
			heal()
			s.Continue(0)
			time.Sleep(2 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *zktest.Server) {
				client(t, s, 10*time.Second, 1).must(t, create("/a", 0))
				healed(s)
				synctest.Wait()
				c := client(t, s, 10*time.Second, 0)
				require.True(t, c.exists(t, "/a"))
				c.must(t, create("/b", 0))
			}, zktest.WithServers(3))
		})
	}
}

// Nothing of it ends an isolation: who is deposed and knows it is cut off still.
func TestADeposedLeaderThatIsIsolatedStaysSo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 40*time.Second, 1)
		heal := s.IsolateServer(0, 0)
		s.Depose(0)
		s.Continue(0)
		time.Sleep(3 * time.Second)
		c.must(t, create("/a", 0))
		opened := make(chan error, 1)
		go func() { // ends when there is a session
			_, err := resume(s, &raw{password: make([]byte, 16), timeout: 10_000}, 0)
			opened <- err
		}()
		time.Sleep(5 * time.Second)
		require.Empty(t, opened)
		heal()
		require.NoError(t, <-opened)
	}, zktest.WithServers(3))
}

// A deposed leader that is killed, or restarted, comes back as any other.
func TestADeposedLeaderIsKilled(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second, 1)
		c.must(t, create("/a", 0))
		s.Depose(0)
		require.NoError(t, s.Restart(0))
		synctest.Wait()
		client(t, s, 10*time.Second, 0).must(t, create("/b", 0))
		require.True(t, c.exists(t, "/b"))
	}, zktest.WithServers(3))
}

// When in its tick a server passes on what it has heard differs from server to server, and is the
// same where the seed is.
func TestThePhaseOfPassingOnIsDrawnFromTheSeed(t *testing.T) {
	t.Parallel()
	passed := func(seed uint64) (at time.Duration) {
		bubble(t, func(t *testing.T, s *zktest.Server) {
			began := time.Now()
			c := client(t, s, 10*time.Second, 0)
			time.Sleep(2100 * time.Millisecond)
			before, _ := s.Session(c.session)
			c.ping(t)
			for info := before; info.Expires.Equal(before.Expires); info, _ = s.Session(c.session) {
				time.Sleep(time.Millisecond)
				synctest.Wait()
			}
			at = time.Since(began)
			require.LessOrEqual(t, at, 3101*time.Millisecond, "within half a tick")
			require.Equal(t, seed, s.Seed())
		}, zktest.WithServers(2), zktest.WithSeed(seed))
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
