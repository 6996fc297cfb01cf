package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
)

// One item for many waiting consumers is one consumer's business: beside the put itself, at most
// five requests until it is acknowledged and its consumer waits again (four are the aim), and two
// watch events, however many wait.
func TestHerdOfOnePut(t *testing.T) {
	t.Parallel()
	for _, waiting := range []int{1, 4, 16, 64} {
		t.Run(fmt.Sprint(waiting), func(t *testing.T) {
			t.Parallel()
			herd(t, waiting, 5, 2)
		})
	}
}

// An item that comes into line when its delay is over wakes one consumer, too. Its put has to know
// the time, and somebody has to move it: ten requests more (four are the aim).
func TestHerdOfOneDelayedItem(t *testing.T) {
	t.Parallel()
	herd(t, 64, 15, 4, queue.WithDelay(time.Second))
}

func herd(t *testing.T, waiting, requests, events int, opts ...queue.PutOption) {
	t.Helper()
	const items = 5
	bubble.Run(t, func(t *bubble.World) {
		m := metered(t)
		q := newQueue(t, t.Session())
		got := make(chan *queue.Item, 1000)
		group := workers(t)
		var consumers []*queue.Consumer
		for range waiting {
			c := consumer(t, newQueue(t, t.Session()))
			consumers = append(consumers, c)
			acknowledging(t, group, c, 1, func(i *queue.Item) { got <- i })
		}
		next := func() {
			put(t, q, "x", opts...)
			bubble.Within(t, 10*time.Second, got, "the item")
		}
		for range 3 { // what is made once
			next()
		}
		settled()
		t.Server.ClearJournal()
		spent := m.spent(func() {
			for range items {
				next()
				settled()
			}
		})
		fired := fired(t.Server)
		t.Logf("%d waiting: %.1f requests an item, %.1f events", waiting, float64(spent)/items, float64(fired)/items)
		for _, c := range consumers {
			require.NoError(t, c.Close(bubble.Minute(t)))
		}
		group.Wait()
		require.LessOrEqual(t, float64(spent)/items, float64(1+requests), "requests, with the put")
		require.LessOrEqual(t, float64(fired)/items, float64(events), "watch events")
	})
}

// What is given back wakes one of those who wait, at twenty requests (ten are the aim).
func TestHerdOfOneReturn(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		const waiting = 64
		m := metered(t)
		s := t.Session()
		put(t, newQueue(t, s), "x")
		first := take(t, newQueue(t, s))
		got := make(chan *queue.Item, 1000)
		group := workers(t)
		var consumers []*queue.Consumer
		for range waiting {
			c := consumer(t, newQueue(t, t.Session()))
			consumers = append(consumers, c)
			acknowledging(t, group, c, 1, func(i *queue.Item) { got <- i })
		}
		settled()
		t.Server.ClearJournal()
		spent := m.spent(func() {
			require.NoError(t, s.Delete(bubble.Minute(t), first.Path(), -1)) // as the end of its session would
			bubble.Within(t, 10*time.Second, got, "the item")
		})
		fired := fired(t.Server)
		t.Logf("%d requests, %d events", spent, fired)
		for _, c := range consumers {
			require.NoError(t, c.Close(bubble.Minute(t)))
		}
		group.Wait()
		require.LessOrEqual(t, spent, 20, "requests")
		require.LessOrEqual(t, fired, 10, "watch events")
	})
}
