package barrier_test

// Both barriers on real servers; and the costs of rounds in requests and watch events.

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// real opens a session on real servers, with a timeout that a busy machine keeps.
func real(t *testing.T, servers []string, opts ...session.Option) *session.Session {
	t.Helper()
	return bubble.Open(t, servers, append([]session.Option{session.WithTimeout(20 * time.Second)}, opts...)...)
}

// notYet fails if the channel delivers at once.
func notYet[T any](t *testing.T, c <-chan T, what string) {
	t.Helper()
	select {
	case <-c:
		t.Fatal(what)
	default:
	}
}

// Both barriers on real servers, one and three: a gate, rounds, a party that gives up, a break, one
// party too many, and one that dies inside.
func TestOnRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			servers := ensemble.Start(t, n).Servers()
			gate, err := barrier.New(real(t, servers), gatePath)
			require.NoError(t, err)
			other, err := barrier.New(real(t, servers), gatePath)
			require.NoError(t, err)
			require.NoError(t, gate.Raise(t.Context()))
			passed, lowered := make(chan error, 1), other.Lowered(t.Context())
			go func() { passed <- other.Wait(t.Context()) }()
			notYet(t, lowered, "it is up")
			require.NoError(t, gate.Lower(t.Context()))
			require.NoError(t, bubble.Within(t, time.Minute, passed, "the gate"))
			bubble.Closes(t, lowered, "the gate")

			var doubles []*barrier.Double
			for i := range 4 {
				d, err := barrier.NewDouble(real(t, servers), path, 4, barrier.WithName(fmt.Sprint("p", i)))
				require.NoError(t, err)
				doubles = append(doubles, d)
			}
			for round := range int64(5) {
				passages := gather(t, doubles...)
				require.Equal(t, round+1, passages[0].Round())
				for _, p := range passages[1:] {
					p.Depart()
				}
				notYet(t, passages[1].Left(), "one is inside")
				passages[0].Depart()
				for _, p := range passages {
					bubble.Closes(t, p.Left(), "the end of the round")
				}
			}
			realTrouble(t, servers, doubles)
		})
	}
}

func realTrouble(t *testing.T, servers []string, doubles []*barrier.Double) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := doubles[0].Enter(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	errs := make(chan error, 1)
	go func() { _, err := doubles[0].Enter(t.Context()); errs <- err }()
	for len(errs) == 0 { // the party may not have arrived yet
		require.NoError(t, doubles[1].Break(t.Context()))
		time.Sleep(10 * time.Millisecond)
	}
	require.ErrorIs(t, <-errs, barrier.ErrBroken)

	passages := gather(t, doubles...)
	extra, err := barrier.NewDouble(real(t, servers), path, len(doubles))
	require.NoError(t, err)
	_, err = extra.Enter(t.Context())
	require.ErrorIs(t, err, barrier.ErrCrowd)
	for _, p := range passages[:3] {
		p.Depart()
	}
	require.NoError(t, passages[3].Session().Close(t.Context())) // as good as dead, to the others
	for _, p := range passages[:3] {
		bubble.Closes(t, p.Left(), "the end of the round")
	}
}

// The figure: a double barrier of 64 parties, each with a session of its own, costs at most 7
// requests and 3 watch events for each party and round. Each request takes its time, as on a
// network: where none takes any, the scheduler decides what overlaps, and it may be some more.
func TestCost(t *testing.T) {
	t.Parallel()
	const parties, rounds = 64, 3
	for seed := uint64(1); seed <= 4; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inBubble(t, func(w *bubble.World) {
				team := newTeam(w, parties)
				defer w.Server.Intercept(bubble.Slowly(seed))()
				for round := range rounds {
					w.Server.ClearJournal()
					leave(w, team.enter(w)...)
					requests, events := cost(w)
					w.Logf("round %d: %.2f requests and %.2f watch events for each party", round+1, requests/parties, events/parties)
					require.LessOrEqual(w, events/parties, 3.0)
					if round > 0 { // in the first round, each party reads which round is the newest, and most try to create it
						require.LessOrEqual(w, requests/parties, 7.0)
					}
				}
			}, zktest.WithJournal(1_000_000))
		})
	}
}

// A party that waits sends no syncs. When the round opens, a party that has waited for long asks
// for one proof of life before its passage.
func TestWhoWaitsAtADoubleBarrierSendsNoSyncs(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		team := newTeam(w, 3)
		team.doubles[0].Arrive()
		team.doubles[1].Arrive()
		time.Sleep(time.Minute)
		w.Server.ClearJournal()
		time.Sleep(10 * time.Minute)
		require.Zero(w, proofs(w))
		gather(w, team.doubles...)
		synctest.Wait()
		require.Equal(w, 2, proofs(w), "one for each of the two that have waited")
	})
}

// proofs counts the requests for a proof of life: syncs, and transactions that only check.
func proofs(w *bubble.World) (n int) {
	for _, r := range w.Server.Journal() {
		if r.Op == zktest.OpSync || r.Op == zktest.OpMulti && len(r.Ops) == 1 && r.Ops[0].Op == zktest.OpCheck {
			n++
		}
	}
	return n
}
