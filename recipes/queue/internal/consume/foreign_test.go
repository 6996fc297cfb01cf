package consume_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// maker makes znodes.
type maker struct {
	paths    []string
	item     string // what the name of one begins with whose data mean nothing
	requests machine.Requests[string]
}

func (m *maker) Step(ev machine.Event) []machine.Effect {
	if _, ok := m.requests.Accept(ev); !ok {
		return nil
	}
	if ev, ok := ev.(machine.EpochBegan); ok {
		m.requests.Begin(ev.Epoch)
		for _, path := range m.paths {
			m.requests.Ask(machine.Ensure{Path: path, Data: []byte("x")}, path)
		}
		m.requests.Ask(machine.Transact{Ops: []machine.Op{
			{Do: machine.Create, Path: m.item, Data: []byte("x"), Sequential: true},
		}}, m.item)
	}
	return m.requests.Flush()
}

// What means nothing to a queue is reported, once, and passed over, wherever it lies: items come
// all the same.
func TestForeignZnodes(t *testing.T) {
	t.Parallel()
	r := layout.Root(root)
	bucket := r.Bucket(place.Bucket{})
	foreign := []string{
		r.Work() + "/x", r.Work() + "/ready-0-1", r.Returned() + "/x", r.Returned() + "/ready-0-0000000000:1:0:0", bucket + "/x",
		bucket + "/00000000-0000-4000-8000-000000000000-65-0000000000",
		r.Bucket(place.Bucket{Lane: place.SlotOf(1000, 0)}) + "/x", r.Journals() + "/x",
	}
	item := bucket + "/ffffffff-0000-4000-8000-000000000000-1-"
	for _, consumers := range []int{1, 3} {
		w := newStory(0)
		w.damaged = true // who looks after the znode whose data make no sense
		w.producers[0].Tell(produce{2, 0})
		w.rest()
		w.Add(recipetest.Player{Name: "somebody", Machine: func() machine.Machine { return &maker{paths: foreign, item: item} }})
		require.True(t, w.Settle(1000))
		for n := range consumers {
			w.addConsumer(n, false, true)
		}
		for n := range 3 {
			w.producers[0].Tell(produce{3, int64(n) * 1000})
		}
		w.ending = true
		for range 3000 {
			w.Settle(1)
		}
		for _, i := range w.items {
			require.Equal(t, 1, i.acked, i.body)
		}
		var told []string
		for _, c := range w.consumers {
			told = append(told, c.skipped...)
		}
		for _, path := range foreign {
			require.True(t, slices.Contains(told, path), "%s is not reported: %v", path, told)
		}
		require.True(t, slices.ContainsFunc(told, func(path string) bool { return strings.HasPrefix(path, item) }))
		require.LessOrEqual(t, len(told), consumers*(len(foreign)+1))
	}
}

// A bucket that is open though there is a higher one is sealed before the cursor passes it: whoever
// believes that it is the last one may still put into it.
func TestNothingIsPutBehindTheCursor(t *testing.T) {
	t.Parallel()
	r := layout.Root(root)
	higher := r.Bucket(place.Bucket{Number: 1})
	for _, before := range []bool{true, false} {
		w := newStory(1)
		w.ending, w.refuses = true, true // what somebody puts there means nothing
		if before {
			w.producers[0].Tell(produce{2, 0})
			require.True(t, w.Settle(1000))
		}
		w.Add(recipetest.Player{Name: "somebody", Machine: func() machine.Machine {
			return &maker{paths: []string{higher}, item: higher + "/ffffffff-0000-4000-8000-000000000000-1-"}
		}})
		for range 4 {
			w.producers[0].Tell(produce{2, 0})
			for range 20 {
				w.Settle(1)
				w.inspect()
			}
		}
		for range 500 {
			w.Settle(1)
			w.inspect()
		}
		require.NotEmpty(t, w.items)
		for _, i := range w.items {
			require.Equal(t, 1, i.acked, "%s, %v", i.body, before)
		}
	}
}
