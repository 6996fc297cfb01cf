package contend_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/contend"
)

type step struct{ from, on, to string }

// declared is the table as a set.
var declared = func() map[step]bool {
	set := map[step]bool{}
	for _, tr := range contend.Transitions() {
		set[step{tr.From.String(), tr.On, tr.To.String()}] = true
	}
	return set
}()

// checkDeclared fails the schedule that takes a transition that the table lacks.
func checkDeclared(from, on, to string) {
	if !declared[step{from, on, to}] {
		panic(failure(fmt.Sprintf("undeclared: {%s, %q, %s}", from, on, to)))
	}
}

// TestTransitions: the stories take every transition that the table declares, and the table declares each once and gives a reason.
func TestTransitions(t *testing.T) {
	t.Parallel()
	require.Len(t, declared, len(contend.Transitions()), "declared twice")
	taken := map[step]bool{}
	for _, file := range traceFiles(t) {
		story, err := os.ReadFile(file)
		require.NoError(t, err)
		play(t, string(story), func(from, on, to string) { taken[step{from, on, to}] = true })
	}
	for _, tr := range contend.Transitions() {
		require.NotEmpty(t, tr.Why)
		require.True(t, taken[step{tr.From.String(), tr.On, tr.To.String()}], "never taken: %v", tr)
	}
	require.Len(t, taken, len(declared))
}

// TestTableReadable keeps the table readable for those who do not read Go: testdata/transitions.md.
func TestTableReadable(t *testing.T) {
	t.Parallel()
	var md strings.Builder
	md.WriteString("| in | on | becomes | because |\n|---|---|---|---|\n")
	for _, tr := range contend.Transitions() {
		fmt.Fprintf(&md, "| %v | %s | %v | %s |\n", tr.From, tr.On, tr.To, tr.Why)
	}
	if *rewrite {
		require.NoError(t, os.WriteFile("testdata/transitions.md", []byte(md.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/transitions.md")
	require.NoError(t, err)
	require.Equal(t, string(want), md.String())
}
