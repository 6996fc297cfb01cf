package barrier_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/zktest"
)

const (
	zkPing = zktest.OpPing
	zkSync = zktest.OpSync
)

// The figure: a double barrier of 64 parties, each with a session of its own, costs at most 7
// requests and 3 watch events for each party and round. The journal counts them, whatever the order
// in which requests arrive.
func TestCost(t *testing.T) {
	t.Parallel()
	const parties, rounds = 64, 3
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				team := w.team(parties)
				if seed > 0 {
					defer w.Server.Intercept(bubble.Slowly(seed))()
				}
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

func (w *world) cost() (requests, events float64) {
	for _, r := range w.Server.Journal() {
		if r.Op == zkPing || r.Op == zkSync { // of the session, not of the barrier
			continue
		}
		requests++
		events += float64(r.Fired)
	}
	return requests, events
}
