package consume_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// until lets things happen until something is so.
func (w *world) until(t *testing.T, so func() bool) {
	t.Helper()
	for range 2000 {
		if so() {
			return
		}
		require.False(t, w.Settle(1), "it comes to rest\n%s", w.Story())
		w.inspect()
	}
	t.Fatal("it does not come", w.Story())
}

// What a mailbox still holds for a machine before this one is ignored: its items' numbers are not
// greater than the first, and its demand is of another incarnation.
func TestWishesForTheMachineBefore(t *testing.T) {
	t.Parallel()
	for name, ev := range map[string]machine.Event{
		"received": consume.Received{No: 7}, "settle": consume.Settle{No: 7, How: consume.Ack}, "over": consume.Over{No: 7},
		"extend": consume.Extend{No: 7, After: 1000}, "unheld": consume.Unheld{No: 7}, "last": consume.Settle{No: 20, How: consume.Nack},
		"demand": consume.Demand{Incarnation: 1, Total: 5},
	} {
		for _, auto := range []bool{false, true} {
			m := consume.New(consume.Config{Root: root, GUID: "me", Incarnation: 2, First: 20, Auto: auto, Stream: name != "demand"})
			require.Empty(t, m.Step(ev), "%s, %v", name, auto)
		}
	}
	m := consume.New(consume.Config{Root: root, GUID: "me", Incarnation: 2, First: 20})
	lost := []machine.Effect{consume.Settled{No: 21, Err: consume.ErrLost}}
	require.Equal(t, lost, m.Step(consume.Settle{No: 21, How: consume.Ack}), "of this one")
}

// A machine hands out what its own demand asks for, and nothing for the demand of the one before.
func TestDemandOfAnotherIncarnation(t *testing.T) {
	t.Parallel()
	w := newStory(0)
	var had []uint64
	a := w.Add(recipetest.Player{
		Name: "c",
		Machine: func() machine.Machine {
			return consume.New(consume.Config{Root: root, GUID: "c", Incarnation: 2})
		},
		Perform: func(_ *recipetest.Actor, e machine.Effect) {
			if d, ok := e.(consume.Deliver); ok {
				had = append(had, d.No)
			}
		},
	})
	w.producers[0].Tell(produce{1, 0})
	a.Tell(consume.Demand{Incarnation: 1, Total: 5})
	w.rest()
	require.Empty(t, had)
	a.Tell(consume.Demand{Incarnation: 2, Total: 1})
	w.rest()
	require.Equal(t, []uint64{1}, had)
}

// However much time is asked for, it does not overflow, and no timer runs longer than a day.
func TestTimeForEver(t *testing.T) {
	t.Parallel()
	const day = 24 * 3_600_000
	w := newStory(1)
	c := w.consumers[0]
	w.producers[0].Tell(produce{1, 0})
	w.until(t, func() bool { return len(c.held) == 1 })
	no := c.nos(func(*grip) bool { return true })[0]
	c.actor.Tell(consume.Extend{No: no, After: math.MaxInt64})
	w.until(t, func() bool { return w.Now() > 3*day })
	require.NotNil(t, c.held[no])
	c.actor.Tell(consume.Extend{No: no, After: 2*day + 5})
	from := w.Now()
	w.until(t, func() bool { return c.held[no] == nil })
	require.Equal(t, from+2*day+5, w.Now())
	w.until(t, func() bool { return len(c.held) == 1 })
	no = c.nos(func(*grip) bool { return true })[0]
	c.receive(no)
	c.settle(no, consume.Nack, math.MaxInt64)
	w.until(t, func() bool { return c.held[no] == nil })
	returned, _ := layout.ParseReturned(w.Children(layout.Root(root).Returned())[0])
	require.Equal(t, int64(math.MaxInt64), returned.Due)
	w.until(t, func() bool { return w.Now() > from+2*day+3_600_000 })
	require.Empty(t, c.held)
}
