package give_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue/internal/give"
)

var taken struct {
	sync.Mutex
	rows []give.Transition
}

// declared takes note of a transition; false if the table does not have it.
func declared(from, on, to string) bool {
	taken.Lock()
	defer taken.Unlock()
	for _, t := range give.Transitions() {
		if (t.From == "" || t.From == from) && t.On == on && t.To == to {
			taken.rows = append(taken.rows, t)
			return true
		}
	}
	return false
}

// Random schedules of this machine are in package take, whose world has both.
func TestEveryDeclaredTransitionIsTaken(t *testing.T) {
	t.Run("stories", func(t *testing.T) {
		for name, story := range map[string]func(*testing.T){
			"first": TestTraceFirst, "lost": TestTraceLost, "full": TestTraceFull, "delayed": TestTraceDelayed,
			"packed": TestTracePacked, "full by itself": TestTraceFullByItself, "refused": TestTraceRefused, "moved": TestTraceMoved, "ending": TestTraceEnding,
		} {
			t.Run(name, story)
		}
	})
	taken.Lock()
	defer taken.Unlock()
	require.Empty(t, slices.DeleteFunc(give.Transitions(), func(t give.Transition) bool { return slices.Contains(taken.rows, t) }))
}
