// ZooKeeper's own part, on real servers: outcomes, not intervals.

package session_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// onEnsemble is a harness with servers of its own, to which things happen.
func onEnsemble(t *testing.T, n int, opts ...ensemble.Option) (*harness, *ensemble.Ensemble) {
	t.Helper()
	w := onReal(t)
	return w, ensemble.Start(t, n, opts...)
}

// A server that is restarted within the timeout ends no epoch, and what changed meanwhile is told.
func TestRealRestartEndsNoEpoch(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	w, servers := onEnsemble(t, 1)
	s := w.openOn(servers.Servers(), session.WithTimeout(30*time.Second))
	w.create(s, "/a", []byte("1"))
	states := s.WatchData(w.ctx, "/a")
	require.Equal(w, "1", string((<-states).Bytes))
	t2 := w.client(s)
	j := t2.inQueue(w)
	first := id(s)
	servers.Kill(0)
	require.True(w, (<-states).Stale)
	require.NoError(w, servers.Restart(0))
	require.NoError(w, s.Sync(w.ctx, "/"))
	require.Equal(w, first, id(s))
	require.EqualValues(w, 1, s.Status().Epoch)
	require.True(w, t2.read(w, 1, j.Path, false).Exists)
	w.write(s, "/a", []byte("2"))
	for d := range states {
		if string(d.Bytes) == "2" {
			break
		}
	}
}

// Connections break again and again while things are asked: what is said to be done is done, and
// nothing is left behind. It takes two hundred rounds, or five hundred losses, which are a few
// rounds on a machine where a request takes longer than a connection lasts.
func TestRealFlapsLoseNothing(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	w, servers := onEnsemble(t, 1)
	s := w.openOn(servers.Proxied(), session.WithTimeout(20*time.Second))
	const rounds, losses = 200, 500
	stop := make(chan struct{})
	flapping := bubble.Begin(func() int {
		for n := range losses {
			select {
			case <-stop:
				return n
			case <-time.After(rand.N(60 * time.Millisecond)): // a write takes as long as the server's disk does
				servers.Proxies()[0].Reset()
			}
		}
		return losses
	})
	t2 := w.client(s)
	done := 0
	for ; done < rounds && len(flapping) == 0; done++ {
		j := t2.inQueue(w)
		require.True(w, t2.read(w, 1, j.Path, true).Exists)
		next := t2.join(w, 1, session.Join{Parent: "/queue", Name: "lock-", Replace: j.Path})
		require.NoError(w, next.Err)
		t2.remove(w, 1, next.Path)
	}
	close(stop)
	w.Logf("%d flaps in %d rounds", <-flapping, done)
	require.Empty(w, w.children(s, "/queue"))
	require.Zero(w, session.RecordLen(s))
	require.EqualValues(w, 1, s.Status().Epoch)
}

// Ten sessions hold something over one of three servers, which is then stopped, or killed, the
// leader or not; five times. The others find out within a second that a leader is gone, and elect
// another.
func TestRealSilentServerCostsNoPossession(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	const rounds, holders = 5, 10
	w, servers := onEnsemble(t, 3, ensemble.WithSyncLimit(5))
	for round := range rounds {
		victim := rand.IntN(3)
		leads := bubble.Leader(t, servers) == victim
		var holds []*session.Hold
		for len(holds) < holders {
			if s := w.onServer(servers, victim); s != nil {
				holds = append(holds, w.client(s).hold(w, 1, "/queue"))
			}
		}
		<-time.After(2*time.Second + rand.N(2*time.Second)) // at any instant between two requests, when there have been some
		if round%2 == 0 {
			servers.Stop(victim)
		} else {
			servers.Kill(victim)
		}
		stopped := time.Now()
		for _, h := range holds {
			w.eventually("trust that is newer than what the server has done", func() bool {
				st := h.Session().Status()
				return h.Err() != nil || st.State == session.Connected && st.TrustedUntil.After(stopped.Add(st.Timeout/2))
			})
		}
		lost := 0
		for _, h := range holds {
			if h.Err() != nil {
				t.Logf("round %d: %v", round, h.Err())
				lost++
			}
		}
		require.Zero(t, lost, "of %d possessions, round %d, the leader %t", holders, round, leads)
		for _, h := range holds {
			require.NoError(t, h.Session().Close(w.ctx))
		}
		if round%2 == 0 {
			servers.Continue(victim)
		} else {
			require.NoError(t, servers.Restart(victim))
		}
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		require.NoError(t, servers.Await(ctx))
		cancel()
	}
}

// onServer opens a session on an ensemble; nil if it came to be on another server than this one.
func (w *harness) onServer(servers *ensemble.Ensemble, i int) *session.Session {
	w.Helper()
	s := w.openOn(servers.Servers())
	if s.Status().Server != servers.Servers()[i] {
		require.NoError(w, s.Close(w.ctx))
		return nil
	}
	return s
}

// A real server that insists on authentication.
func TestARealServerThatInsistsOnAuthenticationIsNamed(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	zk := ensemble.Start(t, 1, ensemble.WithJVM("-Dzookeeper.enforce.auth.enabled=true", "-Dzookeeper.enforce.auth.schemes=digest"))
	s, err := session.New(zk.Servers())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err = s.Connect(ctx)
	isAll(t, err, context.DeadlineExceeded, session.ErrAuthRequired)
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, s.Close(ctx), "nothing was ever done in its ZooKeeper session")
}

// What a proof rests on: a transaction that only checks, also one whose check fails, is numbered
// like any write, and a server without a quorum does not answer it.
func TestATransactionThatOnlyChecksTakesAQuorum(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	w, e := onEnsemble(t, 3)
	s := w.openOn(e.Servers()[:1], session.WithTimeout(30*time.Second))
	zxid := func() int64 {
		w.create(s, "/n"+strconv.FormatInt(time.Now().UnixNano(), 36), nil)
		names := w.children(s, "/")
		var last int64
		for _, name := range names {
			st, _, err := s.Exists(w.ctx, "/"+name)
			require.NoError(w, err)
			last = max(last, st.Czxid)
		}
		return last
	}
	before := zxid()
	require.NoError(w, errOf(s.Multi(w.ctx, session.CheckOp("/", -1))))
	require.Equal(w, before+2, zxid(), "one for the check, one for the create that shows it")
	before = zxid()
	require.ErrorIs(w, errOf(s.Multi(w.ctx, session.CheckOp("/missing", -1))), session.ErrNoNode)
	require.Equal(w, before+2, zxid(), "also if it fails")

	heal := e.Isolate(0)
	answered := bubble.Begin(func() error { return errOf(s.Multi(w.ctx, session.CheckOp("/", -1))) })
	select {
	case err := <-answered:
		require.Fail(w, "answered without a quorum", "%v", err)
	case <-time.After(2 * time.Second):
	}
	heal()
	<-answered // with or without an error: it may have been lost with the connection
}

// What tells whether the leader has changed: the upper half of a transaction's number is larger
// under the next leader, and else stays.
func TestTheUpperHalfOfAZxidCountsLeaders(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	w, e := onEnsemble(t, 3)
	s := w.openOn(e.Servers(), session.WithTimeout(30*time.Second))
	leaders := func(path string) int64 {
		w.create(s, path, nil)
		st, _, err := s.Exists(w.ctx, path)
		require.NoError(w, err)
		return st.Czxid >> 32
	}
	first := leaders("/a")
	require.Equal(w, first, leaders("/b"))
	e.Kill(bubble.Leader(t, e))
	require.NoError(w, s.Sync(w.ctx, "/"))
	require.Greater(w, leaders("/c"), first)
}
