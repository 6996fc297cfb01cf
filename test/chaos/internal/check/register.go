package check

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// stored is the value of a register, and the fencing token of its writer.
type stored struct {
	value string
	token int64
}

// cellOp is a read or a write of a register.
type cellOp struct {
	write bool
	value string
	token int64  // of a write: the writer's fencing token, or 0
	cas   bool   // it is a compare-and-set of
	old   string // this
}

// cellModel is a register that a holder of a smaller token cannot write any more once one with a
// larger has.
var cellModel = porcupine.Model{
	Init: func() any { return stored{} },
	Step: func(state, input, _ any) (bool, any) {
		s, op := state.(stored), input.(cellOp)
		if !op.write {
			return s.value == op.value, s
		}
		return op.token >= s.token && (!op.cas || s.value == op.old), stored{op.value, op.token}
	},
	Equal: func(a, b any) bool { return a == b },
}

// cells checks the registers of a workload: there is an order of all reads and writes of each,
// every one between its call and its return, in which a register does the same. A write whose
// outcome is not known counts if its value was ever seen; a write that was refused must never be
// seen.
func cells(work string) func(Run) []Violation {
	return func(r Run) []Violation {
		things := make(map[string][]history.Event)
		for _, e := range r.Events {
			if e.Work == work && (e.Kind == history.Read || e.Kind == history.Wrote) {
				things[e.Thing] = append(things[e.Thing], e)
			}
		}
		var all []Violation
		for thing, events := range things {
			all = append(all, cell(thing, events)...)
		}
		return all
	}
}

// sightings are the values that were read, or replaced by a write that was carried out, and when
// that was first known.
func sightings(events []history.Event) map[string]int64 {
	seen := make(map[string]int64)
	for again := true; again; { // what is seen may show that another write was carried out
		again = false
		for _, e := range events {
			value := e.Value
			if e.Kind == history.Wrote {
				if _, was := seen[e.Value]; e.Weight == 0 || !was && !e.Done {
					continue
				}
				value = e.Old
			}
			if at, ok := seen[value]; !ok || e.At < at {
				seen[value], again = e.At, true
			}
		}
	}
	return seen
}

func cell(thing string, events []history.Event) []Violation {
	seen := sightings(events)
	answered := make(map[string]bool) // values of writes whose caller lived to tell
	for _, e := range events {
		if e.Kind == history.Wrote && e.Mode != history.Trying {
			answered[e.Value] = true
		}
	}
	var all []Violation
	var ops []porcupine.Operation
	for _, e := range events {
		if e.Mode == history.Trying && answered[e.Value] {
			continue
		}
		op := porcupine.Operation{ClientId: len(ops), Call: e.From, Return: e.At}
		if e.Kind == history.Read {
			op.Input = cellOp{value: e.Value}
		} else {
			op.Input = cellOp{write: true, value: e.Value, token: e.Token, cas: e.Weight != 0, old: e.Old}
		}
		if e.Kind == history.Wrote && !e.Done {
			at, was := seen[e.Value]
			if was && e.Mode == history.Refused {
				all = append(all, Violation{
					Check: "refused", Thing: e.Thing, At: at,
					Text: fmt.Sprintf("%s was read at %.6f, and %s had been told that it was not written", e.Value, seconds(at), e.Party),
				})
			}
			if !was {
				continue
			}
			op.Return = math.MaxInt64
		}
		ops = append(ops, op)
	}
	if got := porcupine.CheckOperationsTimeout(cellModel, ops, patience); got != porcupine.Ok {
		all = append(all, Violation{Check: "porcupine", Thing: thing, Text: fmt.Sprintf("the history of %d reads and writes: %s", len(ops), got)})
	}
	return all
}
