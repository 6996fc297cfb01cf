package session_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest"
)

// The leader is stopped, which the session is connected to. What the session holds stands if the
// others have elected another in time. How much time that is, hangs on what is known of the
// leader's knowledge when the possession is granted: see docs/sessions.md.
func TestAPossessionOutlastsAnElection(t *testing.T) {
	t.Parallel()
	const trials = 20
	for name, c := range map[string]struct {
		idle     time.Duration // since the session was opened
		used     bool          // something is read meanwhile, almost every T/6
		age      time.Duration // of the possession, at least
		election time.Duration
	}{
		"old":                      {age: 20 * time.Second, election: 3 * time.Second},
		"new, of a new session":    {election: 3 * time.Second},
		"new, of a session in use": {idle: 20 * time.Second, used: true, election: 3 * time.Second},
		"new, of an idle session":  {idle: 20 * time.Second, election: 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(3, 4))
			lost := 0
			for range trials {
				idle, age := c.idle+time.Duration(random.Int64N(int64(4*time.Second))), c.age+time.Duration(random.Int64N(int64(2*time.Second)))
				if c.idle == 0 {
					idle = 0
				}
				every := idle
				if c.used {
					every = 1600 * time.Millisecond
				}
				if err := election(t, c.election, idle, every, age); err != nil {
					lost++
					t.Logf("idle for %v, held for %v: %v", idle, age, err)
				}
			}
			require.Zero(t, lost, "of %d possessions", trials)
		})
	}
}

// election is one trial; the error is how the possession ended.
func election(t *testing.T, takes, idle, every, age time.Duration) (lost error) {
	const leader = 2
	inBubbleHere(t, func(w *world) {
		s := w.open()
		for w.connectedTo(s) != leader {
			require.NoError(w, s.Close(w.ctx))
			s = w.open()
		}
		for ; idle > 0; idle -= every {
			time.Sleep(min(every, idle))
			if every < idle {
				_, _, err := s.Exists(w.ctx, "/")
				require.NoError(w, err)
			}
		}
		h := w.client(s).hold(w, 1, "/line")
		time.Sleep(age)
		require.NoError(w, h.Err())
		w.srv.Stop(leader)
		time.Sleep(2 * s.Status().Timeout)
		lost = h.Err()
	}, zktest.WithServers(3), zktest.WithElection(takes))
	return lost
}
