package contend_test

// The cost of contending without faults.

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipe/recipetest"
)

// calmSimulation has n instances that want the thing, and no faults.
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
	type cost struct{ fired, asked int } // events of watches, requests
	for _, wait := range []struct {
		brief         bool // no contender waits long enough to look ahead
		first, others cost // the first holder has read its own znode, so that watch fires too; the second needs no listing
	}{
		{false, cost{3, 3}, cost{3, 3}}, // the deletion; a listing and a read of the one behind
		{true, cost{2, 1}, cost{1, 2}},  // the deletion; except of the first a listing
	} {
		sim := calmSimulation(t, 1)
		sim.brief = wait.brief
		for range 99 {
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
		release() // the second had listed the first alone: its release is between the two
		for range 96 {
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
