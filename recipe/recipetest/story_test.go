package recipetest_test

// Stories, tables of transitions, and schedules that fail.

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
)

// lamp is a machine that is on while there is a claim.
type lamp struct{ on bool }

func (l *lamp) Step(ev machine.Event) []machine.Effect {
	switch ev := ev.(type) {
	case machine.Wanted:
		l.on = true
		return []machine.Effect{machine.Read{Path: "/lamp", Ask: 3, Watch: true}}
	case machine.Withdrawn:
		l.on = false
		return []machine.Effect{machine.Settle{Claim: ev.Claim, Err: machine.ErrHeld}}
	case machine.Seen:
		return []machine.Effect{machine.Wake{Ask: ev.Ask, Try: 1}}
	}
	return nil
}

type state string

func (s state) String() string { return string(s) }

const on, off state = "On", "Off"

func (l *lamp) state() state {
	if l.on {
		return on
	}
	return off
}

func (l *lamp) Phase() string { return l.state().String() }

var dialect = recipetest.Dialect{
	New: func(words []string) recipetest.Subject {
		l := &lamp{on: len(words) > 0}
		return recipetest.Subject{Machine: l, State: func() string { return l.state().String() }}
	},
	Path:  func(short string) string { return "/" + short },
	Short: func(path string) string { return strings.TrimPrefix(path, "/") },
}

// report is a T that records its messages; Fatalf ends it by a panic.
type report struct{ said []string }

func (*report) Helper() {}

func (r *report) Logf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *report) Fatalf(format string, args ...any) {
	r.Logf(format, args...)
	panic(r)
}

func fails(t *testing.T, f func(r *report)) string {
	t.Helper()
	r := &report{}
	require.PanicsWithValue(t, r, func() { f(r) })
	return r.said[len(r.said)-1]
}

// TestStory: a story is played again whatever effects it has; an answer without a number is to the
// last request of its kind.
func TestStory(t *testing.T) {
	t.Parallel()
	story := "# A lamp.\n\n> want 1\n  the old effect\n= Old\n\n> withdraw 1\n> new lit\n> want 2\n> seen lamp\n> seen lamp #8 err=held\n"
	told, taken := dialect.Play(t, story)
	require.Equal(t, `# A lamp.

> want 1
  read #3 lamp and watch
= On

> withdraw 1
  settle 1: held by another
= Off
> new lit
= On
> want 2
  read #3 lamp and watch
= On
> seen lamp
  wake #3 try=1
= On
> seen lamp #8 err=held
  wake #8 try=1
= On
`, told)
	require.Equal(t, recipetest.Steps{{From: "Off", On: "Wanted", To: "On"}: true, {From: "On", On: "Withdrawn", To: "Off"}: true}, taken)
	require.Contains(t, fails(t, func(r *report) { dialect.Play(r, "want 1\n") }), `neither an event nor prose: "want 1"`)
	require.Contains(t, fails(t, func(r *report) { dialect.Play(r, "> dim 1\n") }), `unknown event "dim"`)
}

// TestTable: every difference between a table and the steps taken is a fault.
func TestTable(t *testing.T) {
	t.Parallel()
	lit := recipetest.Step{From: "Off", On: "Wanted", To: "On"}
	for name, c := range map[string]struct {
		declare func(table *recipetest.Table)
		taken   recipetest.Steps
		faults  []string
	}{
		"right":         {func(tb *recipetest.Table) { tb.Declare(off, "Wanted", on, "light") }, recipetest.Steps{lit: true}, nil},
		"by any event":  {func(tb *recipetest.Table) { tb.Declare(off, "", on, "light") }, recipetest.Steps{lit: true}, nil},
		"undeclared":    {func(*recipetest.Table) {}, recipetest.Steps{lit: true}, []string{`undeclared: {Off, "Wanted", On}`}},
		"another event": {func(tb *recipetest.Table) { tb.Declare(off, "Seen", on, "light") }, recipetest.Steps{lit: true}, []string{`undeclared: {Off, "Wanted", On}`, `never taken: {Off, "Seen", On}`}},
		"never taken":   {func(tb *recipetest.Table) { tb.Declare(off, "Wanted", on, "light") }, nil, []string{`never taken: {Off, "Wanted", On}`}},
		"no reason":     {func(tb *recipetest.Table) { tb.Declare(off, "Wanted", on, "") }, recipetest.Steps{lit: true}, []string{`without a reason: {Off, "Wanted", On}`}},
		"twice": {func(tb *recipetest.Table) {
			tb.Declare(off, "Wanted", on, "light")
			tb.Declare(off, "Wanted", on, "light")
		}, recipetest.Steps{lit: true}, []string{`declared twice: {Off, "Wanted", On}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var table recipetest.Table
			c.declare(&table)
			require.Equal(t, c.faults, table.Faults(c.taken))
			require.Equal(t, name == "undeclared" || name == "another event", len(table.Undeclared(c.taken)) > 0)
		})
	}
}

// TestScheduleThatFails: the failure has the number of the schedule, and its story.
func TestScheduleThatFails(t *testing.T) {
	t.Parallel()
	one := func(c recipetest.Chance) {
		n := c.Pick(100)
		c.Log("drawn: %d", n)
		if n == 42 {
			c.Failf("that is it")
		}
	}
	said := fails(t, func(r *report) { recipetest.Schedules(r, 100_000, one) })
	require.Regexp(t, `^that is it\nagain: go test -run '\^TestSchedules\$' -recipetest.schedule=\d+\ndrawn: 42\n$`, said)
	require.Equal(t, "that is it", fails(t, func(r *report) { recipetest.Schedule(r, func(int) int { return 42 }, one) }))
	recipetest.Schedule(t, func(int) int { return 41 }, one)
	require.Panics(t, func() { recipetest.Schedule(t, func(int) int { panic("a bug of the test") }, one) })
}

// TestFold: lines of 160 columns stay, wider ones are broken at a space or behind a comma.
func TestFold(t *testing.T) {
	t.Parallel()
	words, list, run := strings.Repeat("word ", 40), strings.Repeat("item,", 40), strings.Repeat("x", 200)
	for name, c := range map[string]struct{ text, folded string }{
		"narrow":      {run[:160] + "\nnext\n", run[:160] + "\nnext\n"},
		"at a space":  {words + "\n", words[:159] + "\n        " + words[160:] + "\n"},
		"at a comma":  {list + "\n", list[:160] + "\n        " + list[160:] + "\n"},
		"anywhere":    {run, run[:160] + "\n        " + run[160:]},
		"prose":       {"# " + words + "\n", "# " + words[:154] + "\n# " + words[155:] + "\n"},
		"very wide":   {run + run, run[:160] + "\n        " + run[:152] + "\n        " + run[:88]},
		"empty lines": {"\n\n", "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.folded, recipetest.Fold(c.text))
		})
	}
}

func TestATrace(t *testing.T) {
	t.Parallel()
	tr := recipetest.NewTrace(t, &lamp{})
	var took [][2]string
	tr.Transitions(func(from string, _ machine.Event, to string) { took = append(took, [2]string{from, to}) })
	tr.Say("It is lit, and put out again.")
	require.Equal(t, []machine.Effect{machine.Read{Path: "/lamp", Ask: 3, Watch: true}}, tr.Tell(machine.Wanted{Claim: 1}))
	tr.Tell(machine.Seen{Ask: 3}, machine.Withdrawn{Claim: 1})
	tr.Compare("lamp")
	require.Equal(t, [][2]string{{"Off", "On"}, {"On", "On"}, {"On", "Off"}}, took)

	if flag.Lookup("recipetest.rewrite").Value.String() == "true" {
		return // the other story is not to be written
	}
	require.Contains(t, fails(t, func(r *report) {
		other := recipetest.NewTrace(r, &lamp{})
		other.Tell(machine.EpochBegan{Epoch: 2})
		other.Compare("lamp")
	}), "it tells another story")
}
