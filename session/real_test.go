package session_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// onEnsemble is a world with servers of its own, to which things happen.
func onEnsemble(t *testing.T, n int, opts ...ensemble.Option) (*world, *ensemble.Ensemble) {
	t.Helper()
	w := onReal(t)
	return w, ensemble.Start(t, n, opts...)
}

// openOn opens a session on certain servers.
func (w *world) openOn(servers []string, opts ...session.Option) *session.Session {
	w.Helper()
	s, err := session.Open(w.ctx, servers, opts...)
	require.NoError(w, err)
	w.Cleanup(func() { _ = s.Close(w.ctx) })
	return s
}

// cutHolders lets many hold something, cuts all of them off at once, and judges by how much their
// losses came before a rival could see them.
func cutHolders(w *world, rival *session.Session, holders []*session.Session, cut func() (heal func())) {
	w.Helper()
	type round struct {
		hold   *session.Hold
		states <-chan session.Data
	}
	var rounds []round
	for _, s := range holders {
		h := w.client(s).hold(w, s.Status().Epoch, "/line")
		states := rival.WatchData(w.ctx, h.Path())
		bubble.Await(w, states, "the znode, at a server that may be behind", func(d session.Data) bool { return d.Exists })
		rounds = append(rounds, round{h, states})
	}
	longest := bubble.Pauses(w)
	heal := cut()
	leads := make([]<-chan time.Duration, len(rounds))
	for i, r := range rounds {
		leads[i] = bubble.Begin(func() time.Duration {
			done := bubble.Begin(func() time.Time { <-r.hold.Done(); return time.Now() })
			for state := range r.states {
				if !state.Exists && !state.Stale {
					break
				}
			}
			seen := time.Now()
			return seen.Sub(<-done)
		})
	}
	var all []time.Duration
	for i, lead := range leads {
		select {
		case d := <-lead:
			all = append(all, d)
			require.ErrorIs(w, rounds[i].hold.Err(), session.ErrUntrusted)
		case <-w.ctx.Done():
			require.Fail(w, "no end")
		}
	}
	heal()
	bubble.InTime(w, "loss", all, longest())
}

func TestRealPartition(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	w, servers := onEnsemble(t, 1)
	rival := w.openOn(servers.Servers())
	var holders []*session.Session
	for range 20 {
		holders = append(holders, w.openOn(servers.Proxied(), session.WithTimeout(3*time.Second)))
	}
	for range 2 {
		cutHolders(w, rival, holders, func() func() {
			servers.Proxies()[0].Blackhole()
			return servers.Proxies()[0].Heal
		})
		for _, s := range holders {
			w.eventually("the next epoch", func() bool { return s.Status().State == session.Connected })
		}
	}
}

// The holders' server has lost its leader, and goes on answering pings and reads.
func TestRealIsolation(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	w, servers := onEnsemble(t, 3)
	leader := bubble.Leader(t, servers)
	follower := (leader + 1) % 3
	rival := w.openOn(servers.Servers()[leader:leader+1], session.WithTimeout(20*time.Second))
	var holders []*session.Session
	for range 20 {
		holders = append(holders, w.openOn(servers.Servers()[follower:follower+1], session.WithTimeout(3*time.Second)))
	}
	cutHolders(w, rival, holders, func() func() { return servers.Isolate(follower) })
}

// A server that is restarted within the timeout ends no epoch, and what changed meanwhile is told.
func TestRealRestart(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	w, servers := onEnsemble(t, 1)
	s := w.openOn(servers.Servers(), session.WithTimeout(30*time.Second))
	_, err := s.Create(w.ctx, "/a", []byte("1"))
	require.NoError(w, err)
	states := s.WatchData(w.ctx, "/a")
	require.Equal(w, "1", string((<-states).Bytes))
	t2 := w.client(s)
	j := t2.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
	require.NoError(w, j.Err)
	first := id(s)
	servers.Kill(0)
	require.True(w, (<-states).Stale)
	require.NoError(w, servers.Restart(0))
	require.NoError(w, s.Sync(w.ctx, "/"))
	require.Equal(w, first, id(s))
	require.EqualValues(w, 1, s.Status().Epoch)
	require.True(w, t2.read(w, 1, j.Path, false).Exists)
	_, err = s.Set(w.ctx, "/a", []byte("2"), -1)
	require.NoError(w, err)
	for d := range states {
		if string(d.Bytes) == "2" {
			break
		}
	}
}

// Three servers: the connected one is killed, and the next in turn stopped, so that it accepts
// connections and says nothing. No epoch ends.
func TestRealStoppedServer(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	w, servers := onEnsemble(t, 3)
	s := w.openOn(servers.Servers(), session.WithTimeout(10*time.Second))
	first := id(s)
	for range 3 {
		connected := slices.Index(servers.Servers(), s.Status().Server)
		require.NotEqual(w, -1, connected)
		next := (connected + 1) % 3
		servers.Kill(connected)
		servers.Stop(next)
		later := time.AfterFunc(2*time.Second, func() { servers.Continue(next) }) // until then there is no majority
		defer later.Stop()
		require.NoError(w, s.Sync(w.ctx, "/"))
		require.NoError(w, servers.Restart(connected))
		require.NoError(w, servers.Await(w.ctx))
		require.NoError(w, s.Sync(w.ctx, "/"))
		require.Equal(w, first, id(s))
		require.EqualValues(w, 1, s.Status().Epoch)
	}
}

// Close releases what is held at once, confirmed by the server.
func TestRealClose(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	w := onReal(t)
	s, rival := w.open(session.WithTimeout(30*time.Second)), w.open()
	h := w.client(s).hold(w, 1, fmt.Sprint("/line-", real.runs.Add(1)))
	states := rival.WatchData(w.ctx, h.Path())
	require.True(w, (<-states).Exists)
	begun := time.Now()
	require.NoError(w, s.Close(w.ctx))
	require.False(w, (<-states).Exists)
	require.Less(w, time.Since(begun), 10*time.Second)
	require.ErrorIs(w, h.Err(), session.ErrClosed)
}

// Connections break again and again while things are asked: what is said to be done is done, and
// nothing is left behind.
func TestRealFlaps(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	w, servers := onEnsemble(t, 1)
	s := w.openOn(servers.Proxied(), session.WithTimeout(20*time.Second))
	stop := make(chan struct{})
	flapping := bubble.Begin(func() int {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return n
			case <-time.After(rand.N(60 * time.Millisecond)): // a write takes as long as the server's disk does
				servers.Proxies()[0].Reset()
			}
		}
	})
	t2 := w.client(s)
	for range 200 {
		j := t2.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
		require.NoError(w, j.Err)
		require.True(w, t2.read(w, 1, j.Path, true).Exists)
		next := t2.join(w, 1, session.Join{Parent: "/line", Name: "lock-", Replace: j.Path})
		require.NoError(w, next.Err)
		t2.remove(w, 1, next.Path)
	}
	close(stop)
	w.Logf("%d flaps", <-flapping)
	names, _, err := s.Children(w.ctx, "/line")
	require.NoError(w, err)
	require.Empty(w, names)
	require.Zero(w, session.LedgerLen(s))
	require.EqualValues(w, 1, s.Status().Epoch)
}
