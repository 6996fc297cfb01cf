package contend_test

// What contending costs where nothing goes wrong.

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipe/recipetest"
)

// calmWorld has n instances that want the thing, and no faults.
func calmWorld(t *testing.T, n int) *world {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	w := newWorld(recipetest.Chance{Pick: r.IntN}, declared, nil)
	w.calm = true
	if testing.Verbose() && n < 3 {
		w.Logf = t.Logf
	}
	for range n {
		i := w.newInstance()
		i.begin()
		i.want(true, false)
	}
	w.quiet()
	return w
}

// TestI8_ReleaseWakesOne: with a hundred in line, a release wakes its successor and, where they
// have waited for a while, the one behind that: it lists, and watches its own znode. Nobody else
// asks anything.
func TestI8_ReleaseWakesOne(t *testing.T) {
	t.Parallel()
	for _, brief := range []bool{false, true} {
		w := calmWorld(t, 1)
		w.brief = brief
		for range 99 {
			i := w.newInstance()
			i.begin()
			i.want(true, false)
		}
		w.quiet()
		cost := func() (fired, asked int) {
			w.fired, w.asked = 0, 0
			for _, i := range w.all {
				if i.release() {
					break
				}
			}
			w.quiet()
			return w.fired, w.asked
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

// ask is the read of what is held, which a brief possession never makes.
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
	w := calmWorld(t, 2)
	for range 5_000 {
		for _, i := range w.all {
			if i.release() {
				i.want(true, false)
			}
		}
		w.quiet()
		w.deaths = nil
	}
	for _, i := range w.all {
		require.LessOrEqual(t, i.m.Watches(), 3)
		require.LessOrEqual(t, len(i.sess.arms), 3)
	}
}

// TestB08_TriesLeaveNothing: ten thousand tries that lose leave no contender and no watch behind.
func TestB08_TriesLeaveNothing(t *testing.T) {
	t.Parallel()
	w := calmWorld(t, 1)
	loser := w.newInstance()
	loser.begin()
	for range 10_000 {
		w.asked, w.deaths = 0, nil
		loser.want(true, true)
		w.quiet()
		require.Equal(t, 3, w.asked, "create, list and delete")
	}
	require.Len(t, w.nodes, 1)
	require.LessOrEqual(t, loser.m.Watches(), 1)
}

// TestUncontendedCost: nobody else is there, so a brief possession costs three requests, and a long
// one a fourth.
func TestUncontendedCost(t *testing.T) {
	t.Parallel()
	w := calmWorld(t, 1)
	require.True(t, w.all[0].release())
	w.quiet()
	require.Equal(t, 4, w.asked, "create, list, read and delete")
	w.brief, w.asked = true, 0
	w.all[0].want(true, false)
	w.quiet()
	require.True(t, w.all[0].release())
	w.quiet()
	require.Equal(t, 3, w.asked, "create, list and delete")
}
