package consume_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

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
	c := w.addTaker(consume.Config{Incarnation: 2})
	w.producers[0].Tell(produce{1, 0})
	c.actor.Tell(consume.Demand{Incarnation: 1, Total: 5})
	w.rest()
	require.Empty(t, c.got)
	c.actor.Tell(consume.Demand{Incarnation: 2, Total: 1})
	w.rest()
	require.Equal(t, uint64(1), c.last().No)
	require.Len(t, c.got, 1)
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

// A machine without a stream that has nothing to do ends, and leaves nothing behind. What it has to
// do keeps it: an item, or somebody who waits.
func TestIdle(t *testing.T) {
	t.Parallel()
	const idle = 5000
	r := layout.Root(root)
	for _, auto := range []bool{false, true} {
		w := newStory(0)
		c := w.addTaker(consume.Config{Idle: idle, Auto: auto})
		c.actor.Tell(consume.Demand{Total: 1})
		w.until(t, func() bool { return len(w.Children(r.Line())) > 0 })
		w.pass(t, 60_000)
		require.False(t, c.stopped(), "somebody waits")
		w.producers[0].Tell(produce{1, 0})
		no := w.take(t, c).No
		if !auto {
			w.pass(t, 60_000)
			require.False(t, c.stopped(), "it has an item")
			c.actor.Tell(consume.Settle{No: no, How: consume.Ack})
			require.Equal(t, consume.Settled{No: no}, w.told(t, c))
		}
		from := w.Now()
		w.until(t, c.stopped)
		require.Equal(t, from+idle, w.Now())
		for _, dir := range []string{r.Journals(), r.Living(), r.Line()} {
			require.Empty(t, w.Children(dir), dir)
		}
	}
}

// pass lets some time pass.
func (w *world) pass(t *testing.T, time int64) {
	t.Helper()
	over := false
	w.afterwards(time, func() { over = true })
	w.until(t, func() bool { return over })
}

// The possessions of a consumer are guarded by its ephemeral znode. Deleted by hand, it ends them
// at once, as the end of its session would; the items come again, also to itself.
func TestGuardDeletedByHand(t *testing.T) {
	t.Parallel()
	w := newStory(0)
	c := w.addTaker(consume.Config{Stream: true})
	w.producers[0].Tell(produce{1, 0})
	had := w.take(t, c)
	c.actor.Tell(consume.Received{No: had.No})
	w.rest()
	require.True(t, w.Delete(had.Path))
	require.Equal(t, consume.Dropped{No: had.No, Cause: consume.ErrLost}, w.told(t, c))
	again := w.take(t, c)
	require.NotEqual(t, had.Path, again.Path)
	require.Equal(t, 2, again.Attempt)
	c.actor.Tell(consume.Settle{No: again.No, How: consume.Ack})
	require.Equal(t, consume.Settled{No: again.No}, w.told(t, c))
}

// An item that somebody removes while a consumer has it is told to be gone, not lost: also one of a
// pack.
func TestRemovedUnderAClaim(t *testing.T) {
	t.Parallel()
	for _, together := range []int{1, 2} {
		w := newStory(0)
		c := w.addTaker(consume.Config{Stream: true, Prefetch: 2})
		w.producers[0].Tell(produce{together, 0})
		had := w.take(t, c)
		bucket := layout.Root(root).Bucket(place.Bucket{})
		path := bucket + "/" + w.Children(bucket)[0]
		w.removed["ready-0-0000000000:0"] = true
		if together == 1 {
			require.True(t, w.Delete(path))
		} else {
			w.remover.Tell(remove{path, 0})
			w.rest()
		}
		c.actor.Tell(consume.Settle{No: had.No, How: consume.Ack})
		gone := consume.Settled{No: had.No, Err: consume.ErrGone}
		w.until(t, func() bool { return slices.Contains(c.got, machine.Effect(gone)) })
	}
}

// What was handed out and not settled when the consumer closes is told to end by that.
func TestClosingDrops(t *testing.T) {
	t.Parallel()
	w := newStory(0)
	c := w.addTaker(consume.Config{Stream: true, Prefetch: 3})
	w.producers[0].Tell(produce{3, 0})
	w.rest()
	first := c.last()
	c.actor.Tell(consume.Received{No: first.No})
	second := w.take(t, c)
	c.actor.Tell(machine.Closing{})
	w.until(t, c.stopped)
	require.Contains(t, c.got, consume.Dropped{No: first.No, Cause: consume.ErrClosing})
	require.Contains(t, c.got, consume.Dropped{No: second.No, Cause: consume.ErrClosing})
	require.Equal(t, []string{"ready-0-0000000000:0:6,1*1:0"}, w.Children(layout.Root(root).Returned()))
}
