package contend_test

// The cost of contending without faults.

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipe/recipetest"
)

// calmSimulation has n instances, each of which wants to hold once (call), and no faults. Each
// change of state must be in the table of transitions (declared).
func calmSimulation(t *testing.T, n int) *simulation {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	sim := newSimulation(recipetest.Chance{Pick: r.IntN}, declared, nil)
	sim.calm = true
	if testing.Verbose() && n < 3 {
		sim.Logf = t.Logf
	}
	for range n {
		i := sim.newInstance()
		i.begin()
		i.want(call)
	}
	sim.quiet()
	return sim
}

// TestI8_ReleaseWakesOne: with a hundred contenders, a release wakes the successor and, if they
// have waited for a while, the one behind that, which lists and watches its own znode. No other
// sends a request.
func TestI8_ReleaseWakesOne(t *testing.T) {
	t.Parallel()
	const total = 100
	// The first two releases have their own lines; the last two have no two contenders behind them.
	const others = total - 2 - 2
	type cost struct{ fired, asked int } // watches, requests
	for _, wait := range []struct {
		brief                 bool // no contender waits long enough to watch the one that its predecessor waits for
		first, second, others cost
	}{{
		// Fired: the holder's own watch, the successor's, and that of the one behind.
		// Asked: the deletion; by the one behind a listing, and a read with a watch of its own
		// znode, since it is next. So the successor, which was next before, needs no listing.
		first: cost{3, 3}, second: cost{3, 3}, others: cost{3, 3},
	}, {
		brief: true,
		// Fired: the holder's own watch, the successor's.
		// Asked: the deletion. The successor has listed the first alone ahead: it needs no other.
		first: cost{2, 1},
		// Fired: the same, since the second was next from the start, and watches its znode.
		// Asked: the deletion; a listing by the successor, which has listed two ahead.
		second: cost{2, 2},
		// Fired: the successor's watch. The holder has listed and held at once, and has released
		// before it reads its own znode.
		// Asked: as for the second.
		others: cost{1, 2},
	}} {
		sim := calmSimulation(t, 1) // it holds, and watches its own znode, before the others come
		sim.brief = wait.brief
		for range total - 1 {
			i := sim.newInstance()
			i.begin()
			i.want(call)
		}
		sim.quiet()
		release := func() cost {
			sim.fired, sim.asked = 0, 0
			for _, i := range sim.all {
				if i.release() {
					break
				}
			}
			sim.quiet()
			return cost{sim.fired, sim.asked}
		}
		require.Equal(t, wait.first, release())
		require.Equal(t, wait.second, release())
		for range others {
			require.Equal(t, wait.others, release())
		}
	}
}

// TestB24_WatchTableStaysConstant: in ten thousand possessions, one after the other, neither the
// machine's watches nor those at the server grow: there are at most the own znode's, and two ahead.
func TestB24_WatchTableStaysConstant(t *testing.T) {
	t.Parallel()
	sim := calmSimulation(t, 2)
	for range 10_000 {
		for _, i := range sim.all {
			if i.release() {
				i.want(call)
			}
		}
		sim.quiet()      // grants the other
		sim.deaths = nil // no check needs them: they would only grow
	}
	for _, i := range sim.all {
		require.LessOrEqual(t, i.m.Watches(), 3)
		require.LessOrEqual(t, len(i.sess.arms), 3)
	}
}

// TestB08_TriesLeaveNothing: ten thousand tries that lose leave no contender behind, and their
// watches do not grow.
func TestB08_TriesLeaveNothing(t *testing.T) {
	t.Parallel()
	sim := calmSimulation(t, 1)
	loser := sim.newInstance()
	loser.begin()
	for range 10_000 {
		sim.asked, sim.deaths = 0, nil
		loser.want(try)
		sim.quiet()
		require.Equal(t, 3, sim.asked, "create, list and delete")
	}
	require.Len(t, sim.nodes, 1)
	require.LessOrEqual(t, loser.m.Watches(), 1)
}

// TestUncontendedCost: without contention a brief possession costs three requests, and a long one
// four.
func TestUncontendedCost(t *testing.T) {
	t.Parallel()
	sim := calmSimulation(t, 1)
	require.True(t, sim.all[0].release())
	sim.quiet()
	require.Equal(t, 4, sim.asked, "create, list, read and delete")
	sim.brief, sim.asked = true, 0
	sim.all[0].want(call)
	sim.quiet()
	require.True(t, sim.all[0].release())
	sim.quiet()
	require.Equal(t, 3, sim.asked, "create, list and delete")
}
