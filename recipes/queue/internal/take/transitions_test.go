package take_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/take"
)

// phased is a machine that tells its phase.
type phased interface {
	recipe.Machine
	Phase() string
}

// watched checks each transition of a machine.
type watched struct {
	phased
	declared func(from, on, to string) bool
}

// Step implements [recipe.Machine].
func (w watched) Step(ev recipe.Event) []recipe.Effect {
	from := w.Phase()
	effects := w.phased.Step(ev)
	if to, on := w.Phase(), eventName(ev); from != to && !w.declared(from, on, to) {
		fail("undeclared: {%q, %q, %q}", from, on, to)
	}
	return effects
}

func eventName(ev recipe.Event) string {
	name := fmt.Sprintf("%T", ev)
	return name[strings.LastIndexByte(name, '.')+1:]
}

func givingDeclared(from, on, to string) bool {
	return slices.ContainsFunc(give.Transitions(), func(t give.Transition) bool {
		return (t.From == "" || t.From == from) && t.On == on && t.To == to
	})
}

func takingDeclared(from, on, to string) bool {
	resting := func(phase string) string {
		if phase == "Idle" || phase == "Waiting" || phase == "Holding" {
			return take.Resting
		}
		return phase
	}
	return slices.ContainsFunc(take.Transitions(), func(t take.Transition) bool {
		return (t.From == "" || t.From == resting(from)) && t.On == on && t.To == resting(to)
	})
}
