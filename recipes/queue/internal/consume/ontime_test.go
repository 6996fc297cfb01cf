package consume_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// sleeper wakes up after a while.
type sleeper struct {
	after int64
	then  func()
}

func (s *sleeper) Step(ev machine.Event) []machine.Effect {
	switch ev.(type) {
	case machine.EpochBegan:
		return []machine.Effect{machine.Wake{Ask: 1, After: s.after}}
	case machine.Woke:
		s.then()
	}
	return nil
}

// newStory is a world without faults.
func newStory(consumers int) *world {
	rng := rand.New(rand.NewPCG(1, 1))
	w := &world{items: make(map[string]*item), batches: make(map[string][]*item), removed: make(map[string]bool)}
	w.World = recipetest.NewWorld(rng.IntN)
	w.addProducer(0)
	w.addRemover()
	for n := range consumers {
		w.addConsumer(n, false, true)
	}
	w.rest()
	return w
}

// later tells a wish after a while.
func (w *world) afterwards(after int64, then func()) {
	s := &sleeper{after, then}
	w.Add(recipetest.Player{Name: "sleeper", Machine: func() machine.Machine { return s }})
}

// A delayed item comes on time, however long nothing was due before it, and whoever looks.
func TestDelayedItemsAreOnTime(t *testing.T) {
	t.Parallel()
	const hour = 3_600_000
	for _, consumers := range []int{1, 3} {
		w := newStory(consumers)
		from := w.Now()
		for round := range 3 {
			w.afterwards(hour, func() { w.producers[0].Tell(produce{1, 1000}) })
			for delivered := false; !delivered; {
				require.False(t, w.Settle(1), "it comes to rest")
				w.inspect()
				for _, c := range w.consumers {
					for _, g := range c.held {
						delivered = delivered || g.item.due > 0 && g.item.acked == 0 && g.how == 0
					}
				}
			}
			require.Equal(t, from+int64(round+1)*(hour+1000), w.Now(), "%d consumers, round %d", consumers, round)
			for _, c := range w.consumers {
				for _, no := range c.nos(func(*grip) bool { return true }) {
					c.finish(no)
				}
			}
			for w.Now() < from+int64(round+1)*(hour+1000) {
				w.Step()
			}
		}
	}
}

// What is never due is waited for, and nobody is in a hurry.
func TestDelayForEver(t *testing.T) {
	t.Parallel()
	w := newStory(1)
	w.producers[0].Tell(produce{1, math.MaxInt64 - w.Now()})
	for range 1000 {
		w.Settle(1)
		w.inspect()
	}
	require.Greater(t, w.Now(), int64(30*24*3_600_000))
	require.Empty(t, w.consumers[0].held)
	require.Len(t, w.Children(layout.Root(root).Work()), 3)
}

// A pause begins when the item goes back, however long it was had.
func TestPauseBeginsWithTheReturn(t *testing.T) {
	t.Parallel()
	const hour = 3_600_000
	w := newStory(2)
	from := w.Now()
	w.producers[0].Tell(produce{1, 0})
	var had *consumer
	hold := func() uint64 {
		for range 1000 {
			for _, c := range w.consumers {
				if nos := c.nos(func(*grip) bool { return true }); len(nos) > 0 {
					had = c
					return nos[0]
				}
			}
			require.False(t, w.Settle(1))
		}
		return 0
	}
	no := hold()
	had.receive(no)
	w.afterwards(hour, func() { had.settle(no, consume.Nack, 5000) })
	for w.Now() < from+hour {
		w.Settle(1)
	}
	for len(had.held) > 0 {
		w.Settle(1)
	}
	hold()
	require.Equal(t, from+hour+5000, w.Now())
}
