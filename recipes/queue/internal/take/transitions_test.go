package take_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/take"
)

// phased is a machine that tells its phase.
type phased interface {
	machine.Machine
	Phase() string
}

// watched checks each transition of a machine.
type watched struct {
	phased
	declared func(from, on, to string) bool
}

// Step implements [machine.Machine].
func (w watched) Step(ev machine.Event) []machine.Effect {
	from := w.Phase()
	effects := w.phased.Step(ev)
	if to, on := w.Phase(), eventName(ev); from != to && !w.declared(from, on, to) {
		fail("undeclared: {%q, %q, %q}", from, on, to)
	}
	return effects
}

func eventName(ev machine.Event) string {
	name := fmt.Sprintf("%T", ev)
	return name[strings.LastIndexByte(name, '.')+1:]
}

var (
	givingTable = newTable(give.Transitions(), func(t give.Transition) (from, on, to string) { return t.From, t.On, t.To })
	takingTable = newTable(take.Transitions(), func(t take.Transition) (from, on, to string) { return t.From, t.On, t.To })
)

func givingDeclared(from, on, to string) bool { return givingTable.has(from, on, to) }

func takingDeclared(from, on, to string) bool {
	resting := func(phase string) string {
		if phase == "Idle" || phase == "Waiting" || phase == "Holding" {
			return take.Resting
		}
		return phase
	}
	return takingTable.has(resting(from), on, resting(to))
}

// table is a machine's declared transitions, and which of them were taken.
type table struct {
	rows [][3]string

	mu    sync.Mutex
	taken map[[3]string]bool
}

func newTable[T any](rows []T, of func(T) (from, on, to string)) *table {
	t := &table{taken: make(map[[3]string]bool)}
	for _, r := range rows {
		from, on, to := of(r)
		t.rows = append(t.rows, [3]string{from, on, to})
	}
	return t
}

// has takes note of a transition; false if it is not declared.
func (t *table) has(from, on, to string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.rows {
		if (r[0] == "" || r[0] == from) && r[1] == on && r[2] == to {
			t.taken[r] = true
			return true
		}
	}
	return from == to // within what stands together
}

// left are the declared transitions that were never taken.
func (t *table) left() [][3]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.rows), func(r [3]string) bool { return t.taken[r] })
}

// TestEveryDeclaredTransitionIsTaken plays the stories, and the same schedules every time.
func TestEveryDeclaredTransitionIsTaken(t *testing.T) {
	t.Run("stories", func(t *testing.T) {
		for n, story := range []func(*testing.T){
			TestTraceClaimed, TestTraceQuicker, TestTraceAgain, TestTraceUnheld, TestTracePacked, TestTraceDeleted, TestTraceRefused, TestTraceClosing,
			TestTraceTakenForGood, TestTraceGone, TestTraceAckMeetsBack, TestTraceAckMeetsBackInDoubt,
		} {
			t.Run(fmt.Sprint(n), story)
		}
	})
	seeds := []uint64{491, 1423, 2605, 5437, 21098, 45988, 241 | hasty, 571 | hasty, 796 | hasty, 4645135560276593757} // these take what is rare
	for n := range uint64(200) {
		seeds = append(seeds, n)
	}
	for _, n := range seeds {
		if story, err := runSeed(n); err != nil {
			t.Fatalf("%v\n%s", err, story)
		}
	}
	require.Empty(t, takingTable.left())
}
