package double_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
)

type step struct{ from, on, to string }

// declared is the table as a set.
var declared = func() map[step]bool {
	set := map[step]bool{}
	for _, tr := range double.Transitions() {
		set[step{name(tr.From), tr.On, name(tr.To)}] = true
	}
	return set
}()

func name(s double.State) string {
	switch s {
	case double.Any:
		return "any"
	case double.Next:
		return "next"
	default:
		return s.String()
	}
}

// line finds the line of the table that a transition takes.
func line(from, on, to string) (step, bool) {
	for _, f := range []string{from, "any"} {
		for _, t := range []string{to, "next"} {
			s := step{f, on, t}
			if declared[s] && (t != "next" || to == "Idle" || to == "Looking" || to == "Arriving") {
				return s, true
			}
		}
	}
	return step{}, false
}

// checkDeclared fails the schedule that takes a transition that the table lacks.
func checkDeclared(from, on, to string) {
	if _, ok := line(from, on, to); !ok {
		panic(failure(fmt.Sprintf("undeclared: {%s, %q, %s}", from, on, to)))
	}
}

// TestTransitions: the stories, and some schedules, take every transition that the table declares;
// the table declares each once and gives a reason.
func TestTransitions(t *testing.T) {
	t.Parallel()
	require.Len(t, declared, len(double.Transitions()), "declared twice")
	taken := map[step]bool{}
	take := func(from, on, to string) {
		if s, ok := line(from, on, to); ok {
			taken[s] = true
		}
	}
	for _, s := range stories {
		s.tell(&telling{t: t, step: take})
	}
	for n := range uint64(1500) {
		_, err := play(schedule, rand.New(rand.NewPCG(n, 3)).IntN, take)
		require.NoError(t, err)
	}
	for _, tr := range double.Transitions() {
		require.NotEmpty(t, tr.Why)
		assert.True(t, taken[step{name(tr.From), tr.On, name(tr.To)}], "never taken: {%s, %q, %s}", name(tr.From), tr.On, name(tr.To))
	}
}

// TestTableReadable keeps the table readable for those who do not read Go: testdata/transitions.md.
func TestTableReadable(t *testing.T) {
	t.Parallel()
	var md strings.Builder
	md.WriteString("| in | on | becomes | because |\n|---|---|---|---|\n")
	for _, tr := range double.Transitions() {
		fmt.Fprintf(&md, "| %s | %s | %s | %s |\n", name(tr.From), tr.On, name(tr.To), tr.Why)
	}
	recipetest.Golden(t, "transitions.md", md.String())
}

// eventName is what the table of transitions calls an event.
func eventName(ev machine.Event) string {
	if ev, ok := ev.(machine.Fired); ok {
		if ev.Change == machine.Deleted {
			return "Deleted"
		}
		return "Changed"
	}
	_, name, _ := strings.Cut(fmt.Sprintf("%T", ev), ".")
	return name
}
