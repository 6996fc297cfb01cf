package barrier_test

// What rounds, and waiting for one, cost in requests and watch events.

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/zktest"
)

// The figure: a double barrier of 64 parties, each with a session of its own, costs at most 7
// requests and 3 watch events for each party and round. Each request takes its time, as on a
// network: where none takes any, the scheduler decides what overlaps, and it may be some more.
func TestCost(t *testing.T) {
	t.Parallel()
	const parties, rounds = 64, 3
	for seed := uint64(1); seed <= 4; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				team := w.team(parties)
				defer w.Server.Intercept(bubble.Slowly(seed))()
				for round := range rounds {
					w.Server.ClearJournal()
					leave(w, team.enter(w)...)
					requests, events := w.cost()
					w.Logf("round %d: %.2f requests and %.2f watch events for each party", round+1, requests/parties, events/parties)
					require.LessOrEqual(w, events/parties, 3.0)
					if round > 0 { // in the first, each party looks which round is the newest, and most try to make it
						require.LessOrEqual(w, requests/parties, 7.0)
					}
				}
			}, zktest.WithJournal(1_000_000))
		})
	}
}

// Who waits at a double barrier asks for no signs of life. When it opens, each that waited for long
// asks for one, and has its passage.
func TestWhoWaitsAtADoubleBarrierSendsNoSyncs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		team.doubles[0].Arrive()
		team.doubles[1].Arrive()
		time.Sleep(time.Minute)
		w.Server.ClearJournal()
		time.Sleep(10 * time.Minute)
		syncs, checks := w.proofs()
		require.Zero(w, syncs+checks)
		gather(w, team.doubles...)
		synctest.Wait()
		_, checks = w.proofs()
		require.Equal(w, 2, checks, "one for each of the two that have waited")
	})
}

// proofs counts what is asked for as a sign of life: syncs, and transactions that only check.
func (w *world) proofs() (syncs, checks int) {
	for _, r := range w.Server.Journal() {
		switch {
		case r.Op == zktest.OpSync:
			syncs++
		case r.Op == zktest.OpMulti && len(r.Ops) == 1 && r.Ops[0].Op == zktest.OpCheck:
			checks++
		}
	}
	return syncs, checks
}
