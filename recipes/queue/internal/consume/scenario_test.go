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
func waiting(t *testing.T, consumers int, acks bool) *model {
	m := quiet()
	m.addProducer(0)
	for range consumers {
		m.addConsumer(0, true)
	}
	m.settle(t)
	m.ending = acks
	require.Len(t, m.Children(root.Line()), consumers)
	return m
}

func (m *model) settle(t *testing.T) {
	t.Helper()
	require.True(t, m.Settle(100_000))
}

func (m *model) put(t *testing.T, p put) {
	t.Helper()
	m.producers[0].Tell(p)
	m.settle(t)
}

// inLine is the consumer with that place, from 0 on.
func (m *model) inLine(n int) *consumer {
	line := m.Children(root.Line())
	slices.SortFunc(line, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
	k := slices.IndexFunc(m.consumers, func(c *consumer) bool { return strings.Contains(line[n], "-"+c.name+".") })
	return m.consumers[k]
}

// left are the items that are there, in later/ too.
func (m *model) left() (names []string) {
	for _, dir := range []string{root.Items(), root.Later()} {
		for _, bucket := range m.Children(dir) {
			names = append(names, m.Children(path.Join(dir, bucket))...)
		}
	}
	return names
}

// A first that hangs costs half a second, once: the second takes its place away.
func TestTheFirstHangs(t *testing.T) {
	t.Parallel()
	m := waiting(t, 3, true)
	m.inLine(0).meter.hangs = true
	for _, most := range []int64{500, 0} {
		before := m.Now()
		m.put(t, put{count: 1})
		require.Empty(t, m.left())
		m.rests(t)
		require.LessOrEqual(t, m.Now()-before, most+500) // the last half is the new second's
	}
}

// rests fails if anybody asks for something though nothing happens.
func (m *model) rests(t *testing.T) {
	t.Helper()
	requests, _ := m.cost()
	m.settle(t)
	now, _ := m.cost()
	require.Equal(t, requests, now)
}

// The first has an item and dies; the second hangs, and is first then: the third has armed
// consumers/, and finds what the dead one had.
func TestAConsumerDiesBesideOneThatHangs(t *testing.T) {
	t.Parallel()
	m := waiting(t, 3, false)
	first := m.inLine(0)
	m.inLine(1).meter.hangs = true
	m.put(t, put{count: 1})
	require.Len(t, first.held, 1)
	m.ending = true
	first.actor.Kill()
	m.Bury()
	m.settle(t)
	require.Empty(t, m.left())
}

// Somebody deletes znodes by hand: places in line, what says that consumers live, the bell. All are
// made again, and nothing is left beside idle consumers.
func TestZnodesDeletedByHand(t *testing.T) {
	t.Parallel()
	m := waiting(t, 2, true)
	for _, dir := range []string{root.Line(), root.Consumers(), root.Claims(), ""} {
		for _, name := range m.Children(dir) {
			m.Delete(path.Join(dir, name))
		}
		if dir == "" {
			m.Delete(root.Bell())
		}
		m.settle(t)
		for range 3 {
			m.put(t, put{count: 1})
			require.Empty(t, m.left(), dir)
		}
		require.Len(t, m.Children(root.Line()), 2)
		require.Len(t, m.Children(root.Consumers()), 2)
	}
}

// What says that a consumer lives is deleted by hand while it is busy: it is made again with the
// next claim, so that the others hear of its end.
func TestABusyConsumerSignsAgain(t *testing.T) {
	t.Parallel()
	m := quiet()
	m.addProducer(0)
	c := m.addConsumer(0, true)
	m.put(t, put{count: 3})
	m.Delete(path.Join(root.Consumers(), m.Children(root.Consumers())[0]))
	c.finish(c.nos(func(*grip) bool { return true })[0])
	m.settle(t)
	require.Len(t, c.held, 1)
	require.Len(t, m.Children(root.Consumers()), 1)
}

// An item that nobody may read is passed over, reported once a minute, and taken when it can be.
func TestBarred(t *testing.T) {
	t.Parallel()
	m := waiting(t, 2, false)
	m.refuses = true
	m.put(t, put{count: 2})
	barred := path.Join(root.Items(), "0-0000000000", m.left()[1])
	m.Bar(barred)
	m.ending = true
	for _, c := range m.consumers {
		c.actor.Expire()
	}
	before := m.Now()
	for m.Now() < before+50_000 && m.Settle(1) == false { // until only the minute is left
	}
	require.Len(t, m.left(), 1)
	m.Unbar()
	m.settle(t)
	require.Empty(t, m.left())
}

// After so many attempts an item is a dead letter, with its priority; its id is free. While those
// cannot be written it stays, and others go on.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	for _, barred := range []bool{false, true} {
		m := quiet()
		m.attempts, m.refuses = 1, true
		m.addProducer(0)
		c := m.addConsumer(0, true)
		m.put(t, put{count: 1, priority: 2})
		if barred {
			m.put(t, put{count: 1, priority: 1})
			m.Bar(string(dead))
			m.Bar(dead.Items())
		}
		no := c.nos(func(*grip) bool { return true })[0]
		c.receive(no)
		c.settle(no, consume.Nack, 0)
		m.ending = true
		if barred {
			for m.Now() < 1_030_000 && !m.Settle(1) {
			}
			require.Len(t, m.left(), 1)
			m.Unbar()
		}
		m.settle(t)
		require.Empty(t, m.left())
		letters := m.Children(path.Join(dead.Items(), "2-0000000000"))
		require.Len(t, letters, 1)
		r, ok := layout.ParseRecord(m.Data(path.Join(dead.Items(), "2-0000000000", letters[0])))
		require.True(t, ok)
		require.Equal(t, 2, r.Priority)
		require.Empty(t, m.Children(ids))
	}
}

// What is delayed comes when it is due, to consumers that are idle, and costs nothing before.
func TestDelayed(t *testing.T) {
	t.Parallel()
	for _, hangs := range []bool{false, true} {
		m := waiting(t, 3, true)
		m.inLine(0).meter.hangs = hangs
		m.producers[0].Tell(put{count: 2, delay: 5_000})
		m.settle(t)
		require.Empty(t, m.left())
		require.Less(t, m.Now(), int64(1_008_000))
	}
}

// Many items have a long delay, and the slot that they share has begun: they do not hide one behind
// them that is due before.
func TestManyThatAreNotDueHideNothing(t *testing.T) {
	t.Parallel()
	m := quiet()
	m.limit = 3
	m.addProducer(0)
	c := m.addConsumer(0, true)
	m.producers[0].Tell(put{count: 1, delay: 83_000_000})
	for range 70 {
		m.producers[0].Tell(put{count: 3, delay: 24 * 60 * 60 * 1000})
	}
	held := func() []uint64 { return c.nos(func(*grip) bool { return true }) }
	for len(held()) == 0 && m.Settle(1) == false { // until the first is due
	}
	c.receive(held()[0])
	before := m.Now()
	c.settle(held()[0], consume.Nack, 1000)
	for len(held()) == 0 && m.Now() < before+10_000 && m.Settle(1) == false {
	}
	require.Len(t, held(), 1)
	require.Equal(t, before+1000, m.Now())
}

// What a machine before this one was told of what is wanted does not count.
func TestADemandOfTheFormerMachine(t *testing.T) {
	t.Parallel()
	m := quiet()
	m.addProducer(0)
	c := m.addConsumer(1, true)
	former := c.demand().(consume.Demand)
	former.First, former.Wanted = former.First-1, 0
	c.actor.Tell(former)
	m.put(t, put{count: 2})
	require.Len(t, c.nos(func(*grip) bool { return true }), 2)
}

// A consumer that closes gives back what nobody has received, as if it had never been handed out;
// what was received counts. Nothing of it stays.
func TestClosing(t *testing.T) {
	t.Parallel()
	m := quiet()
	m.addProducer(0)
	c := m.addConsumer(1, true)
	m.put(t, put{count: 2})
	nos := c.nos(func(*grip) bool { return true })
	require.Len(t, nos, 2)
	c.receive(nos[0])
	c.closed = true
	c.actor.Tell(machine.Closing{})
	m.settle(t)
	stopped, err := c.actor.Stopped()
	require.True(t, stopped)
	require.NoError(t, err)
	require.Empty(t, m.Children(path.Join(root.Claims(), "0-0000000000")))
	require.Empty(t, m.Children(root.Line()))
	require.Empty(t, m.Children(root.Consumers()))
	for n, name := range m.left() {
		r, _ := layout.ParseRecord(m.Data(path.Join(root.Items(), "0-0000000000", name)))
		require.Equal(t, 1-n, r.Attempts)
	}
}

// The answer to an Ack that has made a place in line is lost, and another item is acknowledged:
// that makes no second place.
func TestALostAnswerMakesNoSecondPlace(t *testing.T) {
	t.Parallel()
	m := quiet()
	m.addProducer(0)
	c := m.addConsumer(1, true)
	m.put(t, put{count: 2})
	nos := c.nos(func(*grip) bool { return true })
	c.settle(nos[0], consume.Ack, 0)
	for len(m.left()) == 2 {
		m.Step()
	}
	c.actor.Disconnect()
	c.settle(nos[1], consume.Ack, 0)
	c.actor.Reconnect()
	for len(m.left()) > 0 {
		m.Step()
	}
	require.Len(t, m.Children(root.Line()), 1)
	m.settle(t)
	require.Len(t, m.Children(root.Line()), 1)
}

// The answer to an Ack that has made a place in line is lost, and the consumer closes: the place
// goes, too, or whoever is behind it would wait for nobody.
func TestAPlaceThatIsNotKnown(t *testing.T) {
	t.Parallel()
	m := waiting(t, 1, false)
	c := m.consumers[0]
	m.put(t, put{count: 1})
	no := c.nos(func(*grip) bool { return true })[0]
	c.receive(no)
	c.settle(no, consume.Ack, 0)
	for len(m.left()) > 0 {
		m.Step()
	}
	c.actor.Disconnect()
	c.actor.Tell(machine.Closing{})
	c.actor.Reconnect()
	m.settle(t)
	stopped, _ := c.actor.Stopped()
	require.True(t, stopped)
	require.Empty(t, m.Children(root.Line()))
}
