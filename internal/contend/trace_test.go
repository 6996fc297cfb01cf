package contend_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/contend"
	"github.com/troupe-go/troupe/internal/machinetest"
)

// declared is the table.
var declared = func() *machinetest.Table {
	table := &machinetest.Table{}
	for _, tr := range contend.Transitions(contend.Contenders) {
		table.Declare(tr.From, tr.On, tr.To, tr.Why)
	}
	return table
}()

// TestTraces plays the stories in testdata.
func TestTraces(t *testing.T) {
	t.Parallel()
	for name, story := range machinetest.Stories(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			played, taken := dialect.Play(t, story)
			require.Empty(t, declared.Undeclared(taken))
			require.Equal(t, machinetest.Golden(t, name+".txt", played), played)
		})
	}
}

// TestTransitions: the stories take every transition that the table declares, and the table
// declares each once and gives a reason.
func TestTransitions(t *testing.T) {
	t.Parallel()
	require.Empty(t, declared.Faults(dialect.Taken(t)))
}

// TestTableReadable keeps the table readable for those who do not read Go: testdata/transitions.md.
func TestTableReadable(t *testing.T) {
	t.Parallel()
	var md strings.Builder
	md.WriteString("| in | on | becomes | because |\n|---|---|---|---|\n")
	for _, tr := range contend.Transitions(contend.Contenders) {
		fmt.Fprintf(&md, "| %v | %s | %v | %s |\n", tr.From, tr.On, tr.To, tr.Why)
	}
	require.Equal(t, machinetest.Golden(t, "transitions.md", md.String()), md.String())
}
