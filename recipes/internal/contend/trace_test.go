package contend_test

// The stories in testdata, and the table of transitions there, which the stories take.

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// subject is one of the kinds of machines here.
type subject struct {
	name        string
	dialect     recipetest.Dialect
	transitions *recipetest.Table
	schedule    func(c recipetest.Chance, taken recipetest.Steps)
	affordable  int // schedules
}

var (
	declared    = table("contenders", "both")
	delayTable  = table("delay")
	singleTable = table("single", "both")
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

// phase is a state as the table has it.
type phase string

func (p phase) String() string { return string(p) }

// table is that of these parts in testdata/transitions.md. A delay does not say by which event.
func table(parts ...string) *recipetest.Table {
	text, err := os.ReadFile("testdata/transitions.md")
	if err != nil {
		panic(err)
	}
	table := &recipetest.Table{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) == 5 && slices.Contains(parts, cells[0]) {
			table.Declare(phase(cells[1]), strings.TrimPrefix(cells[2], "any"), phase(cells[3]), cells[4])
		}
	}
	return table
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

// TestTransitions: the stories, and some schedules, take every transition that the table declares,
// and the table declares each once and gives a reason.
func TestTransitions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s subject) {
		taken := s.dialect.Taken(t)
		for n := range uint64(1500) {
			require.NotPanics(t, func() { s.schedule(recipetest.Chance{Pick: rand.New(rand.NewPCG(n, 1)).IntN}, taken) })
		}
		require.Empty(t, s.transitions.Faults(taken))
	})
}
