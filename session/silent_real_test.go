package session_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// Ten sessions hold something over one of three servers, which is then stopped, or killed, whoever
// it is; five times. The others find out within a second that a leader is gone, and elect another.
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
				holds = append(holds, w.client(s).hold(w, 1, "/line"))
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
func (w *world) onServer(servers *ensemble.Ensemble, i int) *session.Session {
	w.Helper()
	s := w.openOn(servers.Servers())
	if s.Status().Server != servers.Servers()[i] {
		require.NoError(w, s.Close(w.ctx))
		return nil
	}
	return s
}
