package barrier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
)

// B63: a party that dies before the round is open does not open it.
func TestB63_WhoDiesBeforeTheOpeningDoesNotCount(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		team.doubles[0].Arrive()
		synctest.Wait()
		team.hosts[0].Machine.Partition()
		time.Sleep(20 * time.Second) // its session is over
		require.Zero(w, w.standing())
		team.doubles[1].Arrive()
		team.doubles[2].Arrive()
		time.Sleep(10 * time.Second)
		bubble.Never(w, team.doubles[1].Entered(), "two of three")
		replacement := w.double(w.Host("new"), 3, barrier.WithID("p0"))
		leave(w, gather(w, replacement, team.doubles[1], team.doubles[2])...)
	})
}

// B63, K5: a party that dies inside does not hold the others, whichever it is in their order and
// whether it dies before or after they depart; and they do not leave while one of them is inside.
func TestB63_WhoDiesInsideHoldsNobody(t *testing.T) {
	t.Parallel()
	for dead := range 4 {
		for _, before := range []bool{true, false} {
			inBubble(t, func(w *world) {
				team := w.team(4)
				passages := team.enter(w)
				last := (dead + 2) % 4
				die := func() { w.Server.Expire(team.hosts[dead].Status().SessionID) }
				team.hosts[dead].Machine.Partition()
				if before {
					die()
				}
				for i, p := range passages {
					if i != dead && i != last {
						p.Depart()
					}
				}
				synctest.Wait()
				if !before {
					die()
				}
				for i, p := range passages {
					if i != dead {
						bubble.Never(w, p.Left(), "one is inside")
					}
				}
				passages[last].Depart()
				for i, p := range passages {
					if i != dead {
						bubble.Now(w, p.Left())
					}
				}
				require.Zero(w, w.standing())
			})
		}
	}
}

// Everybody dies inside. What is left of the round goes with whoever comes next.
func TestARoundOfTheDeadIsCleanedUp(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		passages := team.enter(w)
		passages[0].Depart()
		synctest.Wait()
		for _, h := range team.hosts {
			h.Machine.Partition()
			w.Server.Expire(h.Status().SessionID)
		}
		require.Len(w, w.rounds(), 2)
		a, b := w.double(w.Host("a"), 2), w.double(w.Host("b"), 2)
		leave(w, gather(w, a, b)...)
		require.Len(w, w.rounds(), 1)
	})
}
