package bench_test

// What an item costs while consumers wait.

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// BenchmarkQueueWaiting puts items one at a time into a queue for which some consumers wait, a
// session each, and counts what one costs until it is acknowledged and all wait again, the put
// itself included. What the servers count while nothing happens is subtracted.
func BenchmarkQueueWaiting(b *testing.B) {
	for _, waiting := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			const items, pause = 20, 30 * time.Millisecond
			e := ensemble.Start(b, 1)
			path := queuePath(b, "q")
			got := make(chan struct{}, 1)
			for range waiting {
				work(b, newQueue(b, e, path), 1, func(*queue.Item) { got <- struct{}{} })
			}
			q := newQueue(b, e, path)
			next := func() {
				_, err := q.Put(b.Context(), make([]byte, itemSize))
				require.NoError(b, err)
				<-got
				time.Sleep(pause)
			}
			for range 3 { // what is made once
				next()
			}
			var spent cost
			n := 0
			for b.Loop() {
				before, began := count(b, e), time.Now()
				for range items {
					next()
				}
				after, took := count(b, e), time.Since(began)
				time.Sleep(took)
				idle := count(b, e)
				spent.requests += 2*after.requests - before.requests - idle.requests
				spent.events += 2*after.events - before.events - idle.events
				n += items
			}
			b.ReportMetric(float64(spent.requests)/float64(n), "requests/item")
			b.ReportMetric(float64(spent.events)/float64(n), "events/item")
		})
	}
}
