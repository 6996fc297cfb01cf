package bench_test

// A queue that is emptied.

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

var drained = flag.Int("queue.drained", 10_000, "items that BenchmarkQueueDrain begins with")

// BenchmarkQueueDrain lets one consumer, and 64, empty a queue whose items were put one at a time,
// each into a znode of its own. Each consumer has a session, and one worker or several.
func BenchmarkQueueDrain(b *testing.B) {
	for _, consumers := range []int{1, 64} {
		for _, workers := range []int{1, 16} {
			b.Run(fmt.Sprintf("consumers=%d/workers=%d", consumers, workers), func(b *testing.B) {
				e := ensemble.Start(b, 1)
				var spent cost
				n := 0
				for b.Loop() {
					b.StopTimer()
					path := fmt.Sprintf("%s-%d", queuePath(b, "q"), n)
					fill(b, e, path)
					var queues []*queue.Queue
					for range consumers {
						queues = append(queues, newQueue(b, e, path))
					}
					var left atomic.Int64
					left.Store(int64(*drained))
					done := make(chan struct{})
					before := count(b, e)
					b.StartTimer()
					for _, q := range queues {
						work(b, q, workers, func(*queue.Item) {
							if left.Add(-1) == 0 {
								close(done)
							}
						}, queue.WithWorkers(workers))
					}
					<-done
					b.StopTimer()
					after := count(b, e)
					spent.requests += after.requests - before.requests
					spent.events += after.events - before.events
					n += *drained
					for _, q := range queues {
						require.NoError(b, q.Close(b.Context()))
					}
					b.StartTimer()
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "items/s")
				b.ReportMetric(float64(spent.requests)/float64(n), "requests/item")
				b.ReportMetric(float64(spent.events)/float64(n), "events/item")
			})
		}
	}
}

// fill puts single items. Each producer puts one at a time, so none goes together with others.
func fill(b *testing.B, e *ensemble.Ensemble, path string) {
	b.Helper()
	const producers = 64
	s := open(b, e.Servers())
	var queues []*queue.Queue
	for range producers {
		q, err := queue.New(s, path)
		require.NoError(b, err)
		queues = append(queues, q)
	}
	shared(producers, 1, *drained, func(n int) {
		if _, err := queues[n].Put(b.Context(), make([]byte, itemSize)); err != nil {
			b.Error(err)
		}
	})
}
