package queue_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/queue"
)

// Four producers put one item at a time, and four consumers acknowledge each: at most 2.6 requests
// an item. A producer is eight goroutines of one process, a consumer sixteen.
func TestBudgetOfPlainPutAndAck(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		const producers, consumers, items = 4, 4, 2000
		m := metered(t)
		var done atomic.Int64
		puts, takes := workers(t), workers(t)
		var all []*queue.Consumer
		for range consumers {
			c := consumer(t, newQueue(t, t.Session()), queue.WithPrefetch(32))
			all = append(all, c)
			acknowledging(t, takes, c, 16, func(*queue.Item) { done.Add(1) })
		}
		spent := m.spent(func() {
			for range producers {
				q := newQueue(t, t.Session())
				for range 8 {
					puts.Go(func() { // ends with its items
						for range items / producers / 8 {
							if _, err := q.Put(bubble.Minute(t), []byte("x")); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
			}
			puts.Wait()
			await(t, func() bool { return done.Load() >= items/producers/8*8*producers })
		})
		closed(t, all, takes)
		within(t, m, spent, items/producers/8*8*producers, 2.6)
	})
}

// Sixty-four consumers drain ten thousand items that were put one at a time: at most three and a
// half requests an item (three are the aim).
func TestBudgetOfDraining(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		const consumers, items = 64, 10_000
		m := metered(t)
		q := newQueue(t, t.Session())
		puts := workers(t)
		for range 100 { // beside each other, so that it takes no time
			puts.Go(func() { putAlone(t, q, items/100) })
		}
		puts.Wait()
		var done atomic.Int64
		takes := workers(t)
		var all []*queue.Consumer
		spent := m.spent(func() {
			for range consumers {
				c := consumer(t, newQueue(t, t.Session()))
				all = append(all, c)
				acknowledging(t, takes, c, 1, func(*queue.Item) { done.Add(1) })
			}
			await(t, func() bool { return done.Load() >= items || m.requests() > 6*items }) // half of that would do
		})
		drained := int(done.Load())
		closed(t, all, takes)
		within(t, m, spent, drained, 3.5)
	})
}

// One producer puts an item now and then, and one consumer waits for it: at most six requests an
// item, the put among them (four are the aim).
func TestBudgetOfAPacedItem(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		const items = 50
		m := metered(t)
		q := newQueue(t, t.Session())
		got := make(chan *queue.Item, 1000)
		takes := workers(t)
		c := consumer(t, newQueue(t, t.Session()))
		acknowledging(t, takes, c, 1, func(i *queue.Item) { got <- i })
		next := func() {
			put(t, q, "x")
			bubble.Within(t, 10*time.Second, got, "the item")
			settled()
		}
		next()
		spent := m.spent(func() {
			for range items {
				next()
			}
		})
		closed(t, []*queue.Consumer{c}, takes)
		within(t, m, spent, items, 6)
	})
}

// The head of a queue of twenty thousand items takes no more requests than that of one of a
// hundred, for one who knows the queue and for one who sees it for the first time; nor does a put.
func TestBudgetOfTheHead(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		how  string
		fill func(t testing.TB, q *queue.Queue, n int)
		most int // requests of a cycle
	}{
		{"put together", putTogether, 8},
		{"put alone", putAlone, 12}, // each item is a pack of its own
	} {
		t.Run(row.how, func(t *testing.T) {
			t.Parallel()
			first, next := make(map[int]int), make(map[int]int)
			for _, items := range []int{100, 20_000} {
				bubble.Run(t, func(t *bubble.World) {
					row.fill(t, newQueue(t, t.Session()), items)
					m := metered(t)
					q := newQueue(t, t.Session())
					cycle := func() {
						require.NoError(t, take(t, q).Ack(bubble.Minute(t)))
						put(t, q, "x")
					}
					first[items] = m.spent(cycle)
					next[items] = m.spent(func() {
						for range 20 {
							cycle()
						}
					})
				})
			}
			t.Logf("requests of the first cycle %v, of the next twenty %v", first, next)
			require.LessOrEqual(t, first[20_000], first[100]+2, "the first cycle: a look at the queue and one at its head")
			require.LessOrEqual(t, next[20_000], next[100]+2, "the next twenty")
			require.LessOrEqual(t, next[100], 20*row.most, "take, acknowledge and put")
		})
	}
}

// await waits for a condition, at most ten minutes of virtual time.
func await(t testing.TB, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(10 * trip) {
		if time.Since(began) > 10*time.Minute {
			t.Fatal("it has not come to that within ten minutes")
		}
	}
}

func closed(t testing.TB, all []*queue.Consumer, takes *sync.WaitGroup) {
	t.Helper()
	for _, c := range all {
		require.NoError(t, c.Close(bubble.Minute(t)))
	}
	takes.Wait()
}

// within holds the requests that items have cost against what they may.
func within(t testing.TB, m *meter, spent, items int, most float64) {
	t.Helper()
	each := float64(spent) / float64(items)
	m.mu.Lock()
	ops := fmt.Sprint(m.ops)
	m.mu.Unlock()
	t.Logf("%.2f requests an item: %s", each, ops)
	require.LessOrEqual(t, each, most, "requests an item")
}
