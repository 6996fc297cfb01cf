// Single stories of consumers, on the model of model_test.go.

package consume_test

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// quiet is a model without faults, in which each consumer wants so many items.
func quiet(prefetches ...int) *model {
	pick := rand.New(rand.NewPCG(1, 1)).IntN
	m := &model{World: recipetest.NewWorld(pick), Chance: recipetest.Chance{Pick: pick}, items: make(map[string]*item), slack: lossSlack}
	m.addProducers()
	for _, n := range prefetches {
		m.addConsumer(n-1, true)
	}
	return m
}

// waiting is a quiet model in which so many consumers stand in line, each for one item.
func waiting(t *testing.T, consumers int) *model {
	m := quiet(slices.Repeat([]int{1}, consumers)...)
	m.settle(t)
	require.Len(t, m.Children(root.Line()), consumers)
	return m
}

func (m *model) settle(t *testing.T) {
	t.Helper()
	require.True(t, m.Settle(100_000))
}

func (m *model) put(t *testing.T, p put) {
	t.Helper()
	m.puts.Tell(p)
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

// The first in line has an item and dies. The second hangs, and is first then. The third has armed
// consumers/, and finds the dead one's item.
func TestAConsumerDiesBesideOneThatHangs(t *testing.T) {
	t.Parallel()
	m := waiting(t, 3)
	first := m.inLine(0)
	m.inLine(1).hangs = true
	m.put(t, put{count: 1})
	require.Len(t, first.held, 1)
	m.ending = true
	first.actor.Kill()
	m.Bury()
	m.settle(t)
	require.Empty(t, m.left())
}

// Each consumer in line has begun a new epoch since it armed its watches, and one dies that has an
// item. Nothing rings: another hears of it by consumers/ alone, which it has armed again.
func TestAConsumerDiesBesideOthersWithANewEpoch(t *testing.T) {
	t.Parallel()
	for others := 1; others <= 3; others++ {
		m := waiting(t, 1+others)
		first := m.inLine(0)
		m.put(t, put{count: 1})
		require.Len(t, first.held, 1)
		for _, c := range m.consumers {
			if c != first {
				c.actor.Expire()
			}
		}
		m.settle(t)
		require.Len(t, m.Children(root.Line()), others)
		m.ending = true
		first.actor.Kill()
		m.Bury()
		m.settle(t)
		require.Empty(t, m.left(), others)
	}
}

// Places in line, the znodes of consumers, claims' parents and the bell are deleted by hand. All
// are made again, and no item is left beside idle consumers.
func TestZnodesDeletedByHand(t *testing.T) {
	t.Parallel()
	m := waiting(t, 2)
	m.ending = true
	for _, dir := range []string{root.Line(), root.Consumers(), root.Claims(), ""} {
		for _, name := range m.Children(dir) {
			m.Delete(path.Join(dir, name))
		}
		switch dir {
		case root.Claims():
			m.Delete(dir)
		case "":
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
	require.True(t, m.Exists(root.Claims()))
}

// The znode of a busy consumer is deleted by hand. It is made again before the next claim, so that
// the others hear of the consumer's end.
func TestABusyConsumerSignsAgain(t *testing.T) {
	t.Parallel()
	m := quiet(1)
	c := m.consumers[0]
	m.put(t, put{count: 3})
	m.Delete(path.Join(root.Consumers(), m.Children(root.Consumers())[0]))
	c.finish(c.open()[0])
	m.settle(t)
	require.Len(t, c.held, 1)
	require.Len(t, m.Children(root.Consumers()), 1)
}

// An item that may not be read is passed over for a minute, and taken when it may be read.
func TestBarred(t *testing.T) {
	t.Parallel()
	m := waiting(t, 2)
	m.refuses = true
	m.put(t, put{count: 2})
	m.Bar(path.Join(root.Items(), "0-0000000000", m.left()[1]))
	m.ending = true
	for _, c := range m.consumers {
		c.actor.Expire()
	}
	before := m.Now()
	for m.Now() < before+50_000 && !m.Settle(1) { // until only the minute is left
	}
	require.Len(t, m.left(), 1)
	m.Unbar()
	m.settle(t)
	require.Empty(t, m.left())
}

// Items with a delay come soon after they are due, though the first in line hangs. It costs the
// second's wait only once.
func TestDelayedItemsBesideAFirstThatHangs(t *testing.T) {
	t.Parallel()
	m := waiting(t, 3)
	m.inLine(0).hangs, m.ending = true, true
	due := m.Now() + 5_000
	m.put(t, put{count: 2, delay: 5_000})
	require.Empty(t, m.left())
	require.Less(t, m.Now(), due+3_000)
	require.Len(t, m.Children(root.Line()), 2, "the first's place is gone: the next item is not held up")
}

// Many items have a long delay, and the slot that they share has begun: an item in a later slot
// that is due before they are is delivered in time.
func TestManyThatAreNotDueHideNothing(t *testing.T) {
	t.Parallel()
	m := quiet(1)
	c := m.consumers[0]
	m.puts.Tell(put{count: 1, delay: 83_000_000})
	for range 70 {
		m.puts.Tell(put{count: 3, delay: 24 * 60 * 60 * 1000})
	}
	for len(c.open()) == 0 && !m.Settle(1) { // until the first is due
	}
	c.receive(c.open()[0])
	before := m.Now()
	c.settle(c.open()[0], consume.Nack, 1000)
	for len(c.open()) == 0 && m.Now() < before+10_000 && !m.Settle(1) {
	}
	require.Len(t, c.open(), 1)
	require.Equal(t, before+1000, m.Now())
}

// A demand that was meant for a former machine does not count.
func TestADemandOfTheFormerMachine(t *testing.T) {
	t.Parallel()
	m := quiet(2)
	c := m.consumers[0]
	former := c.demand().(consume.Demand)
	former.First, former.Wanted = former.First-1, 0
	c.actor.Tell(former)
	m.put(t, put{count: 2})
	require.Len(t, c.open(), 2)
}

// The answer to an Ack that has made a place in line is lost, and another item is acknowledged:
// that makes no second place.
func TestALostAnswerMakesNoSecondPlace(t *testing.T) {
	t.Parallel()
	m := quiet(2)
	c := m.consumers[0]
	m.put(t, put{count: 2})
	nos := c.open()
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
// goes, too. Otherwise the next in line would wait for it.
func TestAPlaceThatIsNotKnown(t *testing.T) {
	t.Parallel()
	m := waiting(t, 1)
	c := m.consumers[0]
	m.put(t, put{count: 1})
	c.finish(c.open()[0])
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

// tried are the attempts of all items, in their order.
func (m *model) tried(t *testing.T) (all []int) {
	t.Helper()
	bucket := path.Join(root.Items(), "0-0000000000")
	names := m.Children(bucket)
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
	for _, name := range names {
		r, ok := layout.ParseRecord(m.Data(path.Join(bucket, name)))
		require.True(t, ok)
		all = append(all, r.Attempts)
	}
	return all
}

// claimed is how many items of the first bucket are claimed.
func (m *model) claimed() int { return len(m.Children(path.Join(root.Claims(), "0-0000000000"))) }

// A pause: what was received stays with its consumer, and can be settled; all else is free, and
// counts no attempt. What is put meanwhile waits. It goes on when the queue is resumed.
func TestAPause(t *testing.T) {
	t.Parallel()
	m := quiet(2)
	c := m.consumers[0]
	m.put(t, put{count: 2})
	c.receive(c.open()[0])
	m.pause(true)
	m.settle(t)
	require.Equal(t, []int{1, 0}, m.tried(t))
	require.Equal(t, 1, m.claimed())
	c.settle(c.open()[0], consume.Ack, 0)
	m.put(t, put{count: 1})
	require.Equal(t, []int{0, 0}, m.tried(t))
	require.Zero(t, m.claimed())
	m.pause(false)
	m.settle(t)
	require.Len(t, c.open(), 2)
	require.Equal(t, []int{1, 1}, m.tried(t))
}

// The queue is paused, or resumed, while a consumer has no session. It learns that in the next one,
// before it claims.
func TestAPauseBetweenSessions(t *testing.T) {
	t.Parallel()
	for _, paused := range []bool{true, false} {
		m := quiet(1)
		c := m.consumers[0]
		m.pause(!paused)
		m.put(t, put{count: 1})
		c.actor.Disconnect()
		m.pause(paused)
		m.settle(t)
		c.actor.Expire()
		m.settle(t)
		require.Equal(t, paused, m.claimed() == 0)
	}
}

// What the operator writes again changes nothing: who waits in line stays there.
func TestAQueueThatIsResumedTwiceIsLeftAlone(t *testing.T) {
	t.Parallel()
	m := waiting(t, 3)
	line := m.Children(root.Line())
	m.operator.Tell(again{})
	m.settle(t)
	require.Equal(t, line, m.Children(root.Line()))
	m.ending = true
	m.put(t, put{count: 3})
	require.Empty(t, m.left())
}

// ZooKeeper refuses a Return. It is tried again, as a Return.
func TestAReturnThatIsRefused(t *testing.T) {
	t.Parallel()
	m := quiet(1)
	m.refuses = true
	c := m.consumers[0]
	m.put(t, put{count: 1})
	c.receive(c.open()[0])
	c.settle(c.open()[0], consume.Return, 0)
	for !c.actor.Refuse(func(e machine.Effect) bool { _, is := e.(machine.Transact); return is }) {
		require.True(t, m.Step())
	}
	m.settle(t)
	m.settle(t)
	require.Equal(t, []int{1}, m.tried(t))
	require.Len(t, c.open(), 1)
}
