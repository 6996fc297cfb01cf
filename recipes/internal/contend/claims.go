package contend

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// claims are those of one instance, in the order in which they are served.
type claims []wanted

// wanted is one of them.
type wanted struct {
	id    machine.Claim
	once  bool
	try   bool
	since uint64 // a try is refused only by a request with a greater number
}

// remove takes one out and tells which it was, −1: none.
func (cs *claims) remove(id machine.Claim) int {
	i := slices.IndexFunc(*cs, func(c wanted) bool { return c.id == id })
	if i >= 0 {
		*cs = slices.Delete(*cs, i, i+1)
	}
	return i
}

// rotate moves on to the next after a possession: the one that had it is over, or goes to the back.
func (cs *claims) rotate() {
	c := (*cs)[0]
	*cs = (*cs)[1:]
	if !c.once {
		*cs = append(*cs, c)
	}
}

// refuse ends the first with an error.
func (cs *claims) refuse(err error) machine.Settle {
	settle := machine.Settle{Claim: (*cs)[0].id, Err: err}
	*cs = (*cs)[1:]
	return settle
}

// fail ends all of them with an error.
func (cs *claims) fail(err error) []machine.Effect {
	var all []machine.Effect
	for _, c := range *cs {
		all = append(all, machine.Settle{Claim: c.id, Err: err})
	}
	*cs = nil
	return all
}
