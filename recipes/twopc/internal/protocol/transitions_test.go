package protocol_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

type step struct{ from, to protocol.Phase }

// declared is the table as a set.
var declared = func() map[step]bool {
	set := map[step]bool{}
	for _, tr := range protocol.Transitions() {
		set[step{tr.From, tr.To}] = true
	}
	return set
}()

// checkDeclared fails what takes a transition that the table lacks.
func checkDeclared(from, to protocol.Phase) {
	if !declared[step{from, to}] {
		panic(failure(fmt.Sprintf("undeclared: %v → %v", from, to)))
	}
}

// TestStories: what the machines do is what is written in testdata.
func TestStories(t *testing.T) {
	t.Parallel()
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, checkDeclared)
			tell(s)
			s.compare(name)
		})
	}
}

// TestTransitions: the stories take every transition that the table declares, and the table
// declares each once and gives a reason.
func TestTransitions(t *testing.T) {
	t.Parallel()
	require.Len(t, declared, len(protocol.Transitions()), "declared twice")
	taken := map[step]bool{}
	note := func(from, to protocol.Phase) { taken[step{from, to}] = true }
	for _, tell := range stories {
		tell(newStory(t, note))
	}
	refusals(t, note)
	for _, tr := range protocol.Transitions() {
		require.NotEmpty(t, tr.Why)
		require.True(t, taken[step{tr.From, tr.To}], "never taken: %v → %v", tr.From, tr.To)
	}
	require.Len(t, taken, len(declared))
}

// TestTableReadable keeps the table readable for those who do not read Go: testdata/transitions.md.
func TestTableReadable(t *testing.T) {
	t.Parallel()
	var md strings.Builder
	md.WriteString("| in | becomes | because |\n|---|---|---|\n")
	for _, tr := range protocol.Transitions() {
		fmt.Fprintf(&md, "| %v | %v | %s |\n", tr.From, tr.To, tr.Why)
	}
	recipetest.Golden(t, "transitions.md", md.String())
}
