package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipe/recipetest"
)

// A machine crashes behind its beginning, which is given up. Whatever the one before had under way,
// nothing stands in the end that nobody decides.
func TestABeginningOfAMachineThatCrashed(t *testing.T) {
	t.Parallel()
	last := false
	s := newStory(t)
	s.world = recipetest.NewWorld(func(n int) int {
		if last {
			return n - 1
		}
		return 0
	})
	s.site("x", "x1")
	l, a := s.leader("c")
	s.settle()
	l.begin(a, "warm", guid(9), false, "x")
	s.settle()
	l.begin(a, "t", guid(1), false, "x")
	s.has("▶ Noted")
	last = true
	a.Crash()
	l.abandon(a, l.last)
	s.settle()
	require.Empty(t, s.world.Children(root.Transactions()), "%s", s.world.Story())
}
