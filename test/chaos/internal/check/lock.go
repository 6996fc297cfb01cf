package check

import (
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience bounds a search for a linearization. One that was not found by then counts as none.
const patience = time.Minute

// grab is an operation of a lock's history.
type grab struct {
	token   int64
	release bool
}

// lockState is the holder, and the largest token so far.
type lockState struct{ holder, newest int64 }

// lockModel is a lock: one holder at a time, with growing tokens, which gives it back.
var lockModel = porcupine.Model{
	Init: func() any { return lockState{} },
	Step: func(state, input, _ any) (bool, any) {
		s, op := state.(lockState), input.(grab)
		if op.release {
			return s.holder == op.token, lockState{newest: s.newest}
		}
		return s.holder == 0 && op.token > s.newest, lockState{op.token, op.token}
	},
	Equal: func(a, b any) bool { return a == b },
}

// lockHistory checks the workload lock as a whole: there is an order of all acquisitions and ends,
// each between its call and its return, in which a lock does the same.
func lockHistory(r Run) []Violation {
	var all []Violation
	for thing, held := range possessions(r) {
		if len(held) == 0 || held[0].work != "lock" || held[0].token == 0 {
			continue
		}
		var ops []porcupine.Operation
		for i, p := range held {
			if p.last.From < p.first.At { // it acted once: more is not known of it
				p.last.From = p.first.At
			}
			ops = append(
				ops,
				porcupine.Operation{ClientId: 2 * i, Input: grab{token: p.token}, Call: p.asked, Return: p.first.At},
				porcupine.Operation{ClientId: 2*i + 1, Input: grab{token: p.token, release: true}, Call: p.last.From, Return: math.MaxInt64},
			)
		}
		if got := porcupine.CheckOperationsTimeout(lockModel, ops, patience); got != porcupine.Ok {
			all = append(all, Violation{Check: "porcupine", Thing: thing, At: held[0].first.At, Text: "the lock's history: " + string(got)})
		}
	}
	return all
}
