package zktest_test

// A server between two subtests, and one that becomes older at once.

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/zksession"
)

// spoiled are the states that a subtest can leave three servers in.
var spoiled = map[string]func(t *testing.T, s *zktest.Server, id int64){
	"znodes": func(t *testing.T, s *zktest.Server, _ int64) {
		z := s.Znodes(t)
		require.NoError(t, z.Create("/more/and/more", nil, zktest.Container()))
		require.NoError(t, z.Delete("/app/limits"))
		require.NoError(t, z.Set("/", []byte("x")))
		require.NoError(t, s.SetSequence("/app", 17))
	},
	"a participant":         func(_ *testing.T, s *zktest.Server, _ int64) { s.Join() },
	"a partition":           func(_ *testing.T, s *zktest.Server, id int64) { s.Partition(id) },
	"a machine's partition": func(_ *testing.T, s *zktest.Server, _ int64) { s.Host("h").Partition() },
	"an interceptor": func(_ *testing.T, s *zktest.Server, _ int64) {
		s.Intercept(func(*zktest.Request) zktest.Verdict { return zktest.Fail(zktest.ErrThrottled) })
	},
	"slowness": func(_ *testing.T, s *zktest.Server, _ int64) {
		s.Host("h").Slow(time.Hour)
		s.SlowHandshakes(time.Hour)
	},
	"a session replaced": func(_ *testing.T, s *zktest.Server, id int64) { s.ExpireSilently(id) },
	"one killed":         func(_ *testing.T, s *zktest.Server, _ int64) { s.Kill(2) },
	"all killed":         func(_ *testing.T, s *zktest.Server, _ int64) { s.Kill(0); s.Kill(1); s.Kill(2) },
	"one stopped":        func(_ *testing.T, s *zktest.Server, _ int64) { s.Stop(0) },
	"one isolated":       func(_ *testing.T, s *zktest.Server, _ int64) { s.IsolateServer(1, time.Second) },
	"one given up":       func(_ *testing.T, s *zktest.Server, _ int64) { s.IsolateServer(1, 1); time.Sleep(1) },
	"one held up":        func(_ *testing.T, s *zktest.Server, _ int64) { s.HoldUp(0) },
	"one deposed":        func(_ *testing.T, s *zktest.Server, _ int64) { s.Depose(2); s.Continue(2) },
	"one that lags":      func(_ *testing.T, s *zktest.Server, _ int64) { s.Lag(0, 100) },
	"an election":        func(_ *testing.T, s *zktest.Server, _ int64) { s.Stop(2) },
}

func TestAResetServerIsAsAtItsStart(t *testing.T) {
	each(t, spoiled, func(t *testing.T, s *zktest.Server, spoil func(*testing.T, *zktest.Server, int64)) {
		z := s.Znodes(t)
		before, err := s.Tree()
		require.NoError(t, err)
		old, waits := client(t, s, 10*time.Second), client(t, s, 10*time.Second)
		old.must(t, create("/mine", jute.FlagEphemeral))
		old.must(t, jute.Request{Op: jute.OpExists, Path: "/app/limits", Watch: true})
		spoil(t, s, old.session)
		_ = waits.send(create("/late", 0)) // which may wait for the end of a fault
		synctest.Wait()
		s.Reset()

		after, err := s.Tree()
		require.NoError(t, err)
		require.Equal(t, before, after)
		z.CheckData("/", "")
		require.Empty(t, s.Sessions())
		require.Empty(t, s.Journal())
		require.Empty(t, z.Watches())
		_, err = old.do(create("/a", 0))
		require.Equal(t, "closed", ending(err), "it has lost its connection")
		require.Empty(t, old.events)
		back, err := resume(s, old, 0)
		require.NoError(t, err)
		require.Zero(t, back.session, "and its session")

		began := time.Now()
		require.Contains(t, said(t, s, "srvr"), "Mode: follower")
		for i := range 3 {
			conn, err := s.Host("h").Dialer()(t.Context(), "tcp", s.Hosts()[i])
			require.NoError(t, err)
			c, err := greet(conn, jute.ConnectRequest{Timeout: 10_000, Password: make([]byte, 16)})
			require.NoError(t, err)
			c.must(t, create("/app/", jute.FlagEphemeralSequential))
			require.True(t, c.exists(t, "/app/limits"))
		}
		z.CheckChildren("/app", "limits", "0000000001", "0000000002", "0000000003")
		require.Zero(t, time.Since(began), "nothing is slow")
		time.Sleep(time.Minute)
		require.Empty(t, s.Sessions(), "and the clock runs")
		s.HoldUp(0)()
		z.CheckAbsent("/late")
	}, zktest.WithServers(3), zktest.WithElection(time.Second), zktest.WithTree(`{"path":"/app/limits","data":"10"}`))
}

// What ends a fault of before does nothing after.
func TestAFaultThatIsHealedAfterAReset(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		id := s.Join().SessionID()
		heals := []func(){
			s.Partition(id), s.Slow(id, time.Second), s.IsolateServer(0, 0), s.HoldUp(1),
			s.Intercept(func(*zktest.Request) zktest.Verdict { return zktest.Pass }),
		}
		s.Reset()
		s.Reset()
		held := s.HoldUp(1)
		c := client(t, s, 10*time.Second, 0)
		d, err := resume(s, c, 1)
		require.NoError(t, err)
		for _, heal := range heals {
			heal()
		}
		_, err = d.do(create("/a", 0))
		require.Equal(t, "silence", ending(err), "it is held up still")
		held()
		s.Znodes(t).CheckData("/a", "data")
	}, zktest.WithServers(2))
}

// A wait goes on with the new tree, and sees no state on the way to it.
func TestAWaitThatLastsOverAReset(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		z := s.Znodes(t)
		require.NoError(t, z.Create("/app/more", nil))
		s.Join()
		s.Join()
		var waits sync.WaitGroup
		waits.Go(func() { z.AwaitChildren(t.Context(), "/app", 1) })
		waits.Go(func() { z.AwaitSessions(t.Context(), 0) })
		between := func(await func()) {
			waits.Go(func() { await(); require.Len(t, s.Sessions(), 1) })
		}
		between(func() { z.AwaitSessions(t.Context(), 1) })
		between(func() { z.AwaitChildren(t.Context(), "/app", 0) })
		synctest.Wait()
		s.Reset()
		synctest.Wait()
		require.NoError(t, z.Delete("/app/limits"))
		s.Join()
		waits.Wait()
	}, zktest.WithTree(`{"path":"/app/limits"}`))
}

// An interceptor that runs meanwhile, and one that resets the server itself.
func TestAResetWhileAnInterceptorRuns(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		s.Intercept(func(*zktest.Request) zktest.Verdict { s.Reset(); return zktest.Pass })
		_, err := c.do(create("/a", 0))
		require.Equal(t, "closed", ending(err))
		s.Znodes(t).CheckAbsent("/a")
		require.Empty(t, s.Journal())
	})
}

// Sockets stay open, and so do those who come from them.
func TestAResetAmongClientsThatWork(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.WithServers(3))
	config := s.StartTLS()
	s.RequireAuth("digest", "orders:secret")
	hosts := s.Servers()
	s.Kill(1)
	var work sync.WaitGroup
	var sessions []*session.Session
	for range 4 {
		sess, err := session.Open(t.Context(), hosts, session.WithTLS(config), session.WithAuth("digest", []byte("orders:secret")))
		require.NoError(t, err)
		sessions = append(sessions, sess)
		work.Go(func() {
			for range 20 {
				_, _ = sess.Create(t.Context(), "/jobs/job-", nil, session.Sequential(), session.Parents()) // it may be lost
			}
		})
	}
	for range 20 {
		s.Reset()
		_, _ = s.Sessions(), s.Dump()
	}
	work.Wait()
	for _, sess := range sessions {
		require.NoError(t, session.CloseWithin(sess, time.Minute))
	}
	require.Equal(t, hosts, s.Servers())
	s.Reset()
	s.Znodes(t).CheckChildren("/", "zookeeper")
	require.NoError(t, s.Close())
	var r recorder
	r.run(func() {
		s := zktest.Start(&r)
		require.NoError(t, s.Close())
		s.Reset()
	})
	require.Contains(t, r.failed, "zktest: Reset: the server is closed")
}

// The TTLs of WithTree begin anew.
func TestAResetAfterATimeThatWasSkipped(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.WithTree(`{"path":"/cache","kind":"ttl","ttl":"1h0m0s"}`))
	z := s.Znodes(t)
	for range 3 {
		s.FastForward(50 * time.Minute)
		require.True(t, z.Exists("/cache"))
		s.FastForward(20 * time.Minute)
		z.CheckAbsent("/cache")
		s.Reset()
	}
}

func TestASessionGoesOnAfterAReset(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		sess := zksession.Open(t, s)
		id := sess.Status().SessionID
		s.Reset()
		time.Sleep(time.Minute)
		require.Equal(t, session.Connected, sess.Status().State)
		require.NotEqual(t, id, sess.Status().SessionID)
	})
}

// Who is reached goes on; who is not is over.
func TestFastForward(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.WithSessionTimeouts(time.Hour, 100*time.Hour), zktest.WithServers(3))
	z := s.Znodes(t)
	require.NoError(t, z.Create("/cache", nil, zktest.TTL(time.Hour)))
	var all []*raw
	for i := range 3 {
		all = append(all, client(t, s, time.Hour, i))
	}
	cut, away, here, other := all[0], client(t, s, 90*time.Hour), client(t, s, time.Hour), s.Join()
	defer s.Partition(cut.session)()
	s.Disconnect(away.session)
	s.Stop(1)
	all[2].must(t, create("/here", jute.FlagEphemeral))

	s.FastForward(59 * time.Minute)
	require.Len(t, s.Sessions(), 6)
	z.CheckChildren("/", "cache", "here", "zookeeper")
	s.FastForward(2 * time.Minute)
	z.AwaitSessions(t.Context(), 4) // not the client of the server that stands still, which
	for id, want := range map[int64]bool{cut.session: false, all[1].session: false, all[2].session: true, here.session: true, away.session: true, other.SessionID(): true} {
		_, ok := s.Session(id)
		require.Equal(t, want, ok)
	}
	z.CheckAbsent("/cache")
	s.FastForward(100 * time.Hour)
	require.Len(t, s.Sessions(), 3, "one was away for too long")
	here.must(t, create("/a", 0))
	stat, err := z.Stat("/a")
	require.NoError(t, err)
	require.Greater(t, stat.Ctime, time.Now().Add(100*time.Hour).UnixMilli())
	s.Expire(away.session) // known still
	require.Contains(t, said(t, s, "srvr"), "Mode: follower")
}

// Without a leader the clock of the sessions stands still.
func TestFastForwardWithoutAMajority(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.WithServers(3), zktest.WithSessionTimeouts(time.Hour, time.Hour))
	c := client(t, s, time.Hour)
	require.NoError(t, s.Znodes(t).Create("/cache", nil, zktest.TTL(time.Minute)))
	s.Kill(1)
	s.Kill(2)
	s.FastForward(24 * time.Hour)
	require.Len(t, s.Sessions(), 1)
	require.NoError(t, s.Restart(1))
	_, err := resume(s, c, 0)
	require.NoError(t, err)
	require.Len(t, s.Sessions(), 1)
}

func TestFastForwardRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	fails := func(d time.Duration) string {
		var r recorder
		r.run(func() { zktest.Start(&r).FastForward(d) })
		return r.failed
	}
	require.Contains(t, fails(-1), "FastForward: -1ns is negative")
	require.Contains(t, fails(1<<63-1), "by more than 876000h0m0s")
	var r recorder
	r.run(func() {
		s := zktest.Start(&r)
		id := s.Join().SessionID()
		s.FastForward(time.Hour)
		s.Expire(id)
		s.Expire(id - 1)
	})
	require.Contains(t, r.failed, "never opened a session")
	synctest.Test(t, func(t *testing.T) {
		require.Contains(t, fails(time.Second), "FastForward(1s) in a testing/synctest bubble: use time.Sleep")
	})
}
