package recipetest

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// Step is a change of state by an event.
type Step struct{ From, On, To string }

// String is as a table has it.
func (s Step) String() string { return fmt.Sprintf("{%s, %q, %s}", s.From, s.On, s.To) }

// Steps are those that machines took.
type Steps map[Step]bool

func (s Steps) add(from string, ev machine.Event, to string) {
	if from != to {
		s[Step{from, EventName(ev), to}] = true
	}
}

// EventName names an event as tables do: a watch's by what it tells, all others by their type.
func EventName(ev machine.Event) string {
	if ev, ok := ev.(machine.Fired); ok {
		switch ev.Change {
		case machine.Deleted:
			return "Deleted"
		case machine.ChildrenChanged:
			return "Children"
		case machine.DataChanged:
			return "Changed"
		case machine.Held:
			return "Held"
		case machine.HolderReleased:
			return "HolderReleased"
		}
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", ev), "machine.")
}

// Table is what a machine declares: every change of state, with its reason.
type Table struct {
	lines []Step
	why   map[Step]string
}

// Declare enters a change of state. on is "" in the table of a machine that does not say by which
// event.
func (tb *Table) Declare(from fmt.Stringer, on string, to fmt.Stringer, why string) {
	if tb.why == nil {
		tb.why = map[Step]string{}
	}
	s := Step{from.String(), on, to.String()}
	tb.lines = append(tb.lines, s)
	tb.why[s] = why
}

// line is the step as the table has it; false if it does not.
func (tb *Table) line(s Step) (Step, bool) {
	for _, line := range []Step{s, {s.From, "", s.To}} {
		if _, ok := tb.why[line]; ok {
			return line, true
		}
	}
	return s, false
}

// Undeclared are the steps that the table lacks.
func (tb *Table) Undeclared(taken Steps) []Step {
	var lacking []Step
	for s := range taken {
		if _, ok := tb.line(s); !ok {
			lacking = append(lacking, s)
		}
	}
	return lacking
}

// Check ends the schedule in which a machine takes a step that the table lacks.
func (tb *Table) Check(c Chance, from string, ev machine.Event, to string) {
	if from == to {
		return
	}
	if s, ok := tb.line(Step{from, EventName(ev), to}); !ok {
		c.Failf("undeclared: %v", s)
	}
}

// Faults is what is wrong with the table, going by all that the stories take: they take every
// change of state that it declares, and it declares each of them once, with a reason.
func (tb *Table) Faults(taken Steps) []string {
	var faults []string
	reached := Steps{}
	for s := range taken {
		line, ok := tb.line(s)
		if !ok {
			faults = append(faults, fmt.Sprintf("undeclared: %v", s))
		}
		reached[line] = true
	}
	seen := Steps{}
	for _, s := range tb.lines {
		if seen[s] {
			faults = append(faults, fmt.Sprintf("declared twice: %v", s))
		}
		if seen[s] = true; tb.why[s] == "" {
			faults = append(faults, fmt.Sprintf("without a reason: %v", s))
		}
		if !reached[s] {
			faults = append(faults, fmt.Sprintf("never taken: %v", s))
		}
	}
	return faults
}
