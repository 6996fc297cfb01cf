package contend_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/internal/contend"
)

// subject is one of the kinds of machines here.
type subject struct {
	name        string
	dialect     recipetest.Dialect
	transitions *recipetest.Table
	schedule    func(c recipetest.Chance)
	affordable  int // schedules
}

var (
	declared    = table(contend.Contenders, true)
	delayTable  = table(contend.Delay, false)
	singleTable = table(contend.Single, true)
)

var subjects = []subject{
	{"contenders", contenders, declared, schedule, tier.Count(5000, 50_000)},
	{"delay", delays, delayTable, delaySchedule, tier.Count(500, 5000)},
	{"single", singles, singleTable, singleSchedule, tier.Count(500, 5000)},
}

// each runs a test for every kind of machine.
func each(t *testing.T, test func(t *testing.T, s subject)) {
	t.Helper()
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// table makes one of what the package declares. A delay does not say by which event.
func table(of contend.Part, on bool) *recipetest.Table {
	declared := &recipetest.Table{}
	for _, tr := range contend.Transitions(of) {
		if !on {
			tr.On = ""
		}
		declared.Declare(tr.From, tr.On, tr.To, tr.Why)
	}
	return declared
}

// TestTraces plays the stories in testdata.
func TestTraces(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s subject) {
		for _, name := range s.dialect.Stories(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s.dialect.Compare(t, s.transitions, name)
			})
		}
	})
}

// TestTransitions: the stories take every transition that the table declares, and the table
// declares each once and gives a reason.
func TestTransitions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s subject) { require.Empty(t, s.transitions.Faults(s.dialect.Taken(t))) })
}

// TestTableReadable keeps the table readable for those who do not read Go: testdata/transitions.md.
func TestTableReadable(t *testing.T) {
	t.Parallel()
	var md strings.Builder
	md.WriteString("| in | on | becomes | because |\n|---|---|---|---|\n")
	for _, tr := range contend.Transitions(contend.Contenders) {
		fmt.Fprintf(&md, "| %v | %s | %v | %s |\n", tr.From, tr.On, tr.To, tr.Why)
	}
	recipetest.Golden(t, "transitions.md", md.String())
}
