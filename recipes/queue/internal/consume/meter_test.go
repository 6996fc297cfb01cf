package consume_test

import (
	"math/rand/v2"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// meter counts what a consumer asks for, and which watches' events it gets; one that hangs does
// nothing any more.
type meter struct {
	machine.Machine
	requests, events int
	hangs            bool
}

func (m *meter) Step(ev machine.Event) (effects []machine.Effect) {
	if m.hangs {
		return nil
	}
	if _, ok := ev.(machine.Fired); ok {
		m.events++
	}
	effects = m.Machine.Step(ev)
	for _, e := range effects {
		switch e.(type) {
		case machine.List, machine.Read, machine.Look, machine.Transact, machine.Ensure, machine.Remove:
			m.requests++
		}
	}
	return effects
}

// quiet is a world without faults, in which what may happen happens in an order of its own.
func quiet() *world {
	pick := rand.New(rand.NewPCG(1, 1)).IntN
	return &world{
		World: recipetest.NewWorld(pick), Chance: recipetest.Chance{Pick: pick}, items: make(map[string]*item), limit: tail.Usual, deaths: 8,
	}
}

func (w *world) cost() (requests, events int) {
	for _, c := range w.consumers {
		requests += c.meter.requests
		events += c.meter.events
	}
	return requests, events
}
