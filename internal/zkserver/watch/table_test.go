package watch_test

// The table of watches: their modes, whom a path tells, and that nothing of a watch is left.

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/internal/zkserver/watch"
)

func TestMain(m *testing.M) { tier.Main(m) }

func fired(t *watch.Table[int], path string) (all []int) {
	t.Fire(path, false, func(w int) { all = append(all, w) })
	return all
}

func TestATellThatSetsTheWatchAgainIsNotToldTwice(t *testing.T) {
	t.Parallel()
	w := watch.NewTable[int](false)
	w.Add("/a", 1, watch.Once)
	told := 0
	w.Fire("/a", false, func(who int) {
		told++
		w.Add("/a", who, watch.Once)
	})
	require.Equal(t, 1, told)
	require.True(t, w.HasMode("/a", 1, watch.Every))
}

func TestEachModeFiresForItsPaths(t *testing.T) {
	t.Parallel()
	w := watch.NewTable[int](false)
	w.Add("/", 1, watch.Recursive)
	w.Add("/a", 2, watch.Recursive)
	w.Add("/a", 3, watch.Persistent)
	w.Add("/a/b", 4, watch.Once)
	w.Add("/a/b", 1, watch.Once)
	w.Add("/ab", 5, watch.Recursive)
	for _, c := range []struct {
		path     string
		children bool
		want     []int
	}{
		{"/a/b", false, []int{4, 1, 2}}, // those on the path, then upwards
		{"/a/b", false, []int{2, 1}},    // 4 has fired, and so has 1 there, which is told as one above now
		{"/a", false, []int{2, 3, 1}},
		{"/a", false, []int{2, 3, 1}},
		{"/a", true, []int{3}},
		{"/a/b/c", false, []int{2, 1}},
		{"/a/b/c", true, nil},
		{"/", false, []int{1}},
		{"/x", false, []int{1}},
	} {
		var got []int
		w.Fire(c.path, c.children, func(who int) { got = append(got, who) })
		require.Equal(t, c.want, got, "%s %v", c.path, c.children)
	}
	w.Add("/", 1, watch.Once) // the later mode counts
	require.Empty(t, fired(w, "/x"))
	require.Equal(t, []int{1}, fired(w, "/"))
	require.Empty(t, fired(w, "/"))
	for who := range 6 {
		w.Drop(who)
	}
	require.Zero(t, w.Len())
	require.Zero(t, w.Paths())
}

// Watches that fire once do so in the order in which they were set, also if others were set and
// taken back before.
func TestTheTableBehavesAsAListOfPairs(t *testing.T) {
	t.Parallel()
	type pair struct {
		path string
		who  int
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := watch.NewTable[int](false)
		var model []pair
		drop := func(gone func(pair) bool) (dropped []int) {
			var left []pair
			for _, p := range model {
				if gone(p) {
					dropped = append(dropped, p.who)
				} else {
					left = append(left, p)
				}
			}
			model = left
			return dropped
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			p := pair{rapid.SampledFrom([]string{"/a", "/b", "/c"}).Draw(rt, "path"), rapid.IntRange(0, 4).Draw(rt, "who")}
			has := func(q pair) bool { return q == p }
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0, 1, 2:
				w.Add(p.path, p.who, watch.Once)
				if !slices.Contains(model, p) {
					model = append(model, p)
				}
			case 3:
				require.Equal(rt, drop(func(q pair) bool { return q.path == p.path }), fired(w, p.path))
			case 4:
				require.Equal(rt, len(drop(has)) == 1, w.RemoveMode(p.path, p.who, watch.Every))
			case 5:
				w.Drop(p.who)
				drop(func(q pair) bool { return q.who == p.who })
			}
			require.Equal(rt, len(model), w.Len())
			require.Equal(rt, slices.Contains(model, p), w.HasMode(p.path, p.who, watch.Every))
			require.Equal(rt, slices.ContainsFunc(model, func(q pair) bool { return q.path == p.path }), w.Watches(p.path))
		}
		count := 0
		w.Each(func(path string, who int) {
			count++
			require.Contains(rt, model, pair{path, who})
		})
		require.Equal(rt, len(model), count)
		for who := range 5 {
			w.Drop(who)
		}
		require.Equal(rt, [3]int{}, [3]int{w.Len(), w.Paths(), w.Watchers()})
	})
}
