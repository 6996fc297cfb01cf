package consume_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
)

// Somebody else has moved the cursor: it is read again, and what lies behind it is claimed.
func TestConflictOnTheCursor(t *testing.T) {
	t.Parallel()
	h := newHand(t, consume.Config{Stream: true, Workers: 1})
	h.first(1)
	h.listed("list /q/work", 0, "ready-0-0000000000", "returned", "alive")
	h.listed("list /q/work/returned", 0)
	h.seen("read /q/cursor", 0, "")
	h.listed("list "+bucket0, 0, pack(0, 1).Name(), pack(1, 1).Name(), pack(2, 1).Name())
	require.True(t, h.asks(`set /q/cursor v0 "ready-0-0000000000 0"`))
	h.failed("set /q/cursor v0", 0, machine.BadVersion)
	h.seen("read /q/cursor", 1, "ready-0-0000000000 1")
	require.True(t, h.asks(`set /q/cursor v1 "ready-0-0000000000 2"`))
	require.True(t, h.asks(`set /q/journal/me-1 v0 "1`+"\\n"+`ready-0-0000000000:2 1 1"`))
}

// Two find a dead consumer's journal. Who is second finds it gone, and that is all.
func TestTwoHeirs(t *testing.T) {
	t.Parallel()
	h := newHand(t, consume.Config{Stream: true, Workers: 1})
	h.first(1)
	h.step(machine.Fired{Epoch: 1, Path: "/q/work/alive", Change: machine.ChildrenChanged})
	h.listed("list /q/journal", 0, "dead-1", "me-1")
	h.listed("list /q/work/alive", 0, "me-1")
	h.seen("read /q/journal/dead-1", 4, "4\nready-0-0000000000:0 1 1")
	require.True(t, h.asks("create /q/work/returned/ready-0-0000000000:0:1*1:0"))
	h.failed("delete /q/journal/dead-1 v4", 0, machine.NoNode)
	require.False(t, h.asks("read /q/journal/dead-1"))
	require.False(t, h.asks("dead-1"))
}

// What goes back keeps its place: it comes again before what was put behind it.
func TestReturnedKeepsItsPlace(t *testing.T) {
	t.Parallel()
	w := newStory(0)
	c := w.addTaker(consume.Config{Stream: true, Prefetch: 1})
	for range 3 {
		w.producers[0].Tell(produce{1, 0})
	}
	w.until(t, func() bool { return len(w.items) == 3 && w.items["p0-2"].put })
	first := w.take(t, c)
	require.Equal(t, "p0-0", string(first.Record.Body))
	c.actor.Tell(consume.Received{No: first.No})
	c.actor.Tell(consume.Settle{No: first.No, How: consume.Nack})
	again := w.take(t, c)
	require.Equal(t, "p0-0", string(again.Record.Body))
	require.Equal(t, 2, again.Attempt)
}

// An acknowledgement that comes when the machine has the item go back already is told that it is
// lost, whatever made it go back, and whether or not that was carried out yet.
func TestAckMeetsGivingBack(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(w *world, c *taker, no uint64){
		"overdue": func(w *world, _ *taker, _ uint64) { w.pass(t, 1000) },
		"over":    func(_ *world, c *taker, no uint64) { c.actor.Tell(consume.Over{No: no}) },
		"closing": func(_ *world, c *taker, _ uint64) { c.actor.Tell(machine.Closing{}) },
		"nack":    func(_ *world, c *taker, no uint64) { c.actor.Tell(consume.Settle{No: no, How: consume.Nack}) },
	} {
		w := newStory(0)
		c := w.addTaker(consume.Config{Stream: true, Visibility: 1000})
		w.producers[0].Tell(produce{1, 0})
		no := w.take(t, c).No
		c.actor.Tell(consume.Received{No: no})
		back(w, c, no)
		c.actor.Tell(consume.Settle{No: no, How: consume.Ack})
		lost := consume.Settled{No: no, Err: consume.ErrLost}
		w.until(t, func() bool {
			return slices.Contains(c.got, machine.Effect(lost)) || c.stopped()
		})
		require.Contains(t, c.got, machine.Effect(lost), name)
		require.True(t, w.Exists(bucket0+"/"+pack(0, 1).Name()), name)
	}
}
