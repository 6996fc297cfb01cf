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
		i.want(true, false)
	}
	sim.quiet()
	return sim
}

// TestI8_ReleaseWakesOne: with a hundred contenders, a release wakes the successor and, if they
// have waited for a while, the one behind that, which lists and watches its own znode. No other
// sends a request.
func TestI8_ReleaseWakesOne(t *testing.T) {
	t.Parallel()
	for _, brief := range []bool{false, true} {
		sim := calmSimulation(t, 1)
		sim.brief = brief
		for range 99 {
			i := sim.newInstance()
			i.begin()
			i.want(true, false)
		}
		sim.quiet()
		cost := func() (fired, asked int) {
			sim.fired, sim.asked = 0, 0
			for _, i := range sim.all {
				if i.release() {
					break
				}
			}
			sim.quiet()
			return sim.fired, sim.asked
		}
		fired, asked := cost() // the second has listed the first alone
		require.Equal(t, []int{2 + ask(brief), 1 + 2*ask(brief)}, []int{fired, asked})
		_, _ = cost() // nor did the third look ahead, and the second watched its own znode
		for range 96 {
			fired, asked = cost()
			if brief {
				require.Equal(t, []int{1, 2}, []int{fired, asked}, "the deletion, and a listing")
			} else {
				require.Equal(t, []int{3, 3}, []int{fired, asked}, "the deletion; a listing and a read of the one behind")
			}
		}
	}
}

// ask is the read of a held znode, which a brief possession does not need.
func ask(brief bool) int {
	if brief {
		return 0
	}
	return 1
}

// TestB24_WatchTableStaysConstant: ten thousand possessions leave no watch behind, neither here nor
// at the server.
func TestB24_WatchTableStaysConstant(t *testing.T) {
	t.Parallel()
	sim := calmSimulation(t, 2)
	for range 5_000 {
		for _, i := range sim.all {
			if i.release() {
				i.want(true, false)
			}
		}
		sim.quiet()
		sim.deaths = nil
	}
	for _, i := range sim.all {
		require.LessOrEqual(t, i.m.Watches(), 3)
		require.LessOrEqual(t, len(i.sess.arms), 3)
	}
}

// TestB08_TriesLeaveNothing: ten thousand tries that lose leave no contender and no watch behind.
func TestB08_TriesLeaveNothing(t *testing.T) {
	t.Parallel()
	sim := calmSimulation(t, 1)
	loser := sim.newInstance()
	loser.begin()
	for range 10_000 {
		sim.asked, sim.deaths = 0, nil
		loser.want(true, true)
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
	sim.all[0].want(true, false)
	sim.quiet()
	require.True(t, sim.all[0].release())
	sim.quiet()
	require.Equal(t, 3, sim.asked, "create, list and delete")
}
