package consume_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

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

// One put, acknowledged, until all wait again costs the same with three consumers and with 64.
func TestHerd(t *testing.T) {
	t.Parallel()
	for consumers, costs := range map[int][2]int{1: {7, 1}, 2: {10, 3}, 3: {11, 4}, 4: {11, 4}, 16: {11, 4}, 64: {11, 4}} {
		t.Run(fmt.Sprint(consumers), func(t *testing.T) {
			t.Parallel()
			w := quiet()
			w.addProducer(0)
			for range consumers {
				w.addConsumer(0, true)
			}
			require.True(t, w.Settle(100_000))
			w.ending = true                // what is delivered is acknowledged
			for n := range consumers + 4 { // each arms consumers/ when it is second for the first time
				requests, events := w.cost()
				w.producers[0].Tell(put{count: 1})
				require.True(t, w.Settle(100_000))
				now, fired := w.cost()
				if got := [2]int{now - requests, fired - events}; n >= consumers+1 {
					require.Equal(t, costs, got)
				}
			}
		})
	}
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
