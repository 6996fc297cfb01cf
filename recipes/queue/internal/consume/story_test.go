package consume_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// waiting is a quiet world in which so many consumers stand in line, each for one item. What is
// delivered is acknowledged if acks is set.
func waiting(t *testing.T, consumers int, acks bool) *world {
	w := quiet()
	w.addProducer(0)
	for range consumers {
		w.addConsumer(0, true)
	}
	w.settle(t)
	w.ending = acks
	require.Len(t, w.Children(root.Line()), consumers)
	return w
}

func (w *world) settle(t *testing.T) {
	t.Helper()
	require.True(t, w.Settle(100_000))
}

func (w *world) put(t *testing.T, p put) {
	t.Helper()
	w.producers[0].Tell(p)
	w.settle(t)
}

// inLine is the consumer with that place, from 0 on.
func (w *world) inLine(n int) *consumer {
	line := w.Children(root.Line())
	slices.SortFunc(line, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
	k := slices.IndexFunc(w.consumers, func(c *consumer) bool { return strings.Contains(line[n], "-"+c.name+".") })
	return w.consumers[k]
}

// left are the items that are there, in later/ too.
func (w *world) left() (names []string) {
	for _, dir := range []string{root.Items(), root.Later()} {
		for _, bucket := range w.Children(dir) {
			names = append(names, w.Children(path.Join(dir, bucket))...)
		}
	}
	return names
}

// A first that hangs costs half a second, once: the second takes its place away.
func TestTheFirstHangs(t *testing.T) {
	t.Parallel()
	w := waiting(t, 3, true)
	w.inLine(0).meter.hangs = true
	for _, most := range []int64{500, 0} {
		before := w.Now()
		w.put(t, put{count: 1})
		require.Empty(t, w.left())
		w.rests(t)
		require.LessOrEqual(t, w.Now()-before, most+500) // the last half is the new second's
	}
}

// rests fails if anybody asks for something though nothing happens.
func (w *world) rests(t *testing.T) {
	t.Helper()
	requests, _ := w.cost()
	w.settle(t)
	now, _ := w.cost()
	require.Equal(t, requests, now)
}

// The first has an item and dies; the second hangs, and is first then: the third has armed
// consumers/, and finds what the dead one had.
func TestAConsumerDiesBesideOneThatHangs(t *testing.T) {
	t.Parallel()
	w := waiting(t, 3, false)
	first := w.inLine(0)
	w.inLine(1).meter.hangs = true
	w.put(t, put{count: 1})
	require.Len(t, first.held, 1)
	w.ending = true
	first.actor.Kill()
	w.Bury()
	w.settle(t)
	require.Empty(t, w.left())
}

// Somebody deletes znodes by hand: places in line, what says that consumers live, the bell. All are
// made again, and nothing is left beside idle consumers.
func TestZnodesDeletedByHand(t *testing.T) {
	t.Parallel()
	w := waiting(t, 2, true)
	for _, dir := range []string{root.Line(), root.Consumers(), root.Claims(), ""} {
		for _, name := range w.Children(dir) {
			w.Delete(path.Join(dir, name))
		}
		if dir == "" {
			w.Delete(root.Bell())
		}
		w.settle(t)
		for range 3 {
			w.put(t, put{count: 1})
			require.Empty(t, w.left(), dir)
		}
		require.Len(t, w.Children(root.Line()), 2)
		require.Len(t, w.Children(root.Consumers()), 2)
	}
}

// What says that a consumer lives is deleted by hand while it is busy: it is made again with the
// next claim, so that the others hear of its end.
func TestABusyConsumerSignsAgain(t *testing.T) {
	t.Parallel()
	w := quiet()
	w.addProducer(0)
	c := w.addConsumer(0, true)
	w.put(t, put{count: 3})
	w.Delete(path.Join(root.Consumers(), w.Children(root.Consumers())[0]))
	c.finish(c.nos(func(*grip) bool { return true })[0])
	w.settle(t)
	require.Len(t, c.held, 1)
	require.Len(t, w.Children(root.Consumers()), 1)
}

// An item that nobody may read is passed over, reported once a minute, and taken when it can be.
func TestBarred(t *testing.T) {
	t.Parallel()
	w := waiting(t, 2, false)
	w.refuses = true
	w.put(t, put{count: 2})
	barred := path.Join(root.Items(), "0-0000000000", w.left()[1])
	w.Bar(barred)
	w.ending = true
	for _, c := range w.consumers {
		c.actor.Expire()
	}
	before := w.Now()
	for w.Now() < before+50_000 && w.Settle(1) == false { // until only the minute is left
	}
	require.Len(t, w.left(), 1)
	w.Unbar()
	w.settle(t)
	require.Empty(t, w.left())
}

// After so many attempts an item is a dead letter, with its priority; its id is free. While those
// cannot be written it stays, and others go on.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	for _, barred := range []bool{false, true} {
		w := quiet()
		w.attempts, w.refuses = 1, true
		w.addProducer(0)
		c := w.addConsumer(0, true)
		w.put(t, put{count: 1, priority: 2})
		if barred {
			w.put(t, put{count: 1, priority: 1})
			w.Bar(string(dead))
			w.Bar(dead.Items())
		}
		no := c.nos(func(*grip) bool { return true })[0]
		c.receive(no)
		c.settle(no, consume.Nack, 0)
		w.ending = true
		if barred {
			for w.Now() < 1_030_000 && !w.Settle(1) {
			}
			require.Len(t, w.left(), 1)
			w.Unbar()
		}
		w.settle(t)
		require.Empty(t, w.left())
		letters := w.Children(path.Join(dead.Items(), "2-0000000000"))
		require.Len(t, letters, 1)
		r, ok := layout.ParseRecord(w.Data(path.Join(dead.Items(), "2-0000000000", letters[0])))
		require.True(t, ok)
		require.Equal(t, 2, r.Priority)
		require.Empty(t, w.Children(ids))
	}
}

// What is delayed comes when it is due, to consumers that are idle, and costs nothing before.
func TestDelayed(t *testing.T) {
	t.Parallel()
	for _, hangs := range []bool{false, true} {
		w := waiting(t, 3, true)
		w.inLine(0).meter.hangs = hangs
		w.producers[0].Tell(put{count: 2, delay: 5_000})
		w.settle(t)
		require.Empty(t, w.left())
		require.Less(t, w.Now(), int64(1_008_000))
	}
}

// Many items have a long delay, and the slot that they share has begun: they do not hide one behind
// them that is due before.
func TestManyThatAreNotDueHideNothing(t *testing.T) {
	t.Parallel()
	w := quiet()
	w.limit = 3
	w.addProducer(0)
	c := w.addConsumer(0, true)
	w.producers[0].Tell(put{count: 1, delay: 83_000_000})
	for range 70 {
		w.producers[0].Tell(put{count: 3, delay: 24 * 60 * 60 * 1000})
	}
	held := func() []uint64 { return c.nos(func(*grip) bool { return true }) }
	for len(held()) == 0 && w.Settle(1) == false { // until the first is due
	}
	c.receive(held()[0])
	before := w.Now()
	c.settle(held()[0], consume.Nack, 1000)
	for len(held()) == 0 && w.Now() < before+10_000 && w.Settle(1) == false {
	}
	require.Len(t, held(), 1)
	require.Equal(t, before+1000, w.Now())
}

// What a machine before this one was told of what is wanted does not count.
func TestADemandOfTheFormerMachine(t *testing.T) {
	t.Parallel()
	w := quiet()
	w.addProducer(0)
	c := w.addConsumer(1, true)
	former := c.demand().(consume.Demand)
	former.First, former.Wanted = former.First-1, 0
	c.actor.Tell(former)
	w.put(t, put{count: 2})
	require.Len(t, c.nos(func(*grip) bool { return true }), 2)
}

// A consumer that closes gives back what nobody has received, as if it had never been handed out;
// what was received counts. Nothing of it stays.
func TestClosing(t *testing.T) {
	t.Parallel()
	w := quiet()
	w.addProducer(0)
	c := w.addConsumer(1, true)
	w.put(t, put{count: 2})
	nos := c.nos(func(*grip) bool { return true })
	require.Len(t, nos, 2)
	c.receive(nos[0])
	c.closed = true
	c.actor.Tell(machine.Closing{})
	w.settle(t)
	stopped, err := c.actor.Stopped()
	require.True(t, stopped)
	require.NoError(t, err)
	require.Empty(t, w.Children(path.Join(root.Claims(), "0-0000000000")))
	require.Empty(t, w.Children(root.Line()))
	require.Empty(t, w.Children(root.Consumers()))
	for n, name := range w.left() {
		r, _ := layout.ParseRecord(w.Data(path.Join(root.Items(), "0-0000000000", name)))
		require.Equal(t, 1-n, r.Attempts)
	}
}

// The answer to an Ack that has made a place in line is lost, and another item is acknowledged:
// that makes no second place.
func TestALostAnswerMakesNoSecondPlace(t *testing.T) {
	t.Parallel()
	w := quiet()
	w.addProducer(0)
	c := w.addConsumer(1, true)
	w.put(t, put{count: 2})
	nos := c.nos(func(*grip) bool { return true })
	c.settle(nos[0], consume.Ack, 0)
	for len(w.left()) == 2 {
		w.Step()
	}
	c.actor.Disconnect()
	c.settle(nos[1], consume.Ack, 0)
	c.actor.Reconnect()
	for len(w.left()) > 0 {
		w.Step()
	}
	require.Len(t, w.Children(root.Line()), 1)
	w.settle(t)
	require.Len(t, w.Children(root.Line()), 1)
}

// The answer to an Ack that has made a place in line is lost, and the consumer closes: the place
// goes, too, or whoever is behind it would wait for nobody.
func TestAPlaceThatIsNotKnown(t *testing.T) {
	t.Parallel()
	w := waiting(t, 1, false)
	c := w.consumers[0]
	w.put(t, put{count: 1})
	no := c.nos(func(*grip) bool { return true })[0]
	c.receive(no)
	c.settle(no, consume.Ack, 0)
	for len(w.left()) > 0 {
		w.Step()
	}
	c.actor.Disconnect()
	c.actor.Tell(machine.Closing{})
	c.actor.Reconnect()
	w.settle(t)
	stopped, _ := c.actor.Stopped()
	require.True(t, stopped)
	require.Empty(t, w.Children(root.Line()))
}
