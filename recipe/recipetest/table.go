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

// Steps are the changes of state that machines took.
type Steps map[Step]bool

func (s Steps) add(from string, ev machine.Event, to string) {
	if from != to {
		s[Step{from, EventName(ev), to}] = true
	}
}

// EventName is the name of an event in tables: its type, for a watch's event the change.
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

// Table declares the changes of state of a machine, each with its reason.
type Table struct {
	declared []Step
	why      map[Step]string
}

// Declare adds a change of state. on is "" in a table that has no events.
func (tb *Table) Declare(from fmt.Stringer, on string, to fmt.Stringer, why string) {
	if tb.why == nil {
		tb.why = map[Step]string{}
	}
	s := Step{from.String(), on, to.String()}
	tb.declared = append(tb.declared, s)
	tb.why[s] = why
}

// find is the step as the table has it, perhaps without an event; false if the table lacks it.
func (tb *Table) find(s Step) (Step, bool) {
	for _, declared := range []Step{s, {s.From, "", s.To}} {
		if _, ok := tb.why[declared]; ok {
			return declared, true
		}
	}
	return s, false
}

// Undeclared are the steps that the table lacks.
func (tb *Table) Undeclared(taken Steps) []Step {
	var lacking []Step
	for s := range taken {
		if _, ok := tb.find(s); !ok {
			lacking = append(lacking, s)
		}
	}
	return lacking
}

// Check fails the schedule if the table lacks a machine's step.
func (tb *Table) Check(c Chance, from string, ev machine.Event, to string) {
	if from == to {
		return
	}
	if s, ok := tb.find(Step{from, EventName(ev), to}); !ok {
		c.Failf("undeclared: %v", s)
	}
}

// Faults are the errors of the table, by the steps of all stories. A table is right if it declares
// each of these steps, and nothing else, once and with a reason.
func (tb *Table) Faults(taken Steps) []string {
	var faults []string
	reached := Steps{}
	for s := range taken {
		declared, ok := tb.find(s)
		if !ok {
			faults = append(faults, fmt.Sprintf("undeclared: %v", s))
		}
		reached[declared] = true
	}
	seen := Steps{}
	for _, s := range tb.declared {
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
