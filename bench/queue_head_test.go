package bench_test

// The head of a long queue, beside that of a short one.

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// BenchmarkQueueHead is the head of a queue with 200,000 items waiting beside that of one with
// 100: an item taken and acknowledged, and another one put; and the head looked at by
// somebody who knows nothing of the queue yet. The figures are medians: now and then one of three
// servers keeps an answer to itself until the next request comes on that connection, for a second
// or so, whatever it was asked and by whom.
func BenchmarkQueueHead(b *testing.B) {
	for _, servers := range []int{1, 3} {
		b.Run(fmt.Sprintf("servers=%d", servers), func(b *testing.B) {
			addrs := ensemble.Start(b, servers).Servers()
			short, long := head(b, addrs, "short", 100), head(b, addrs, "long", 200_000)
			var spent [4][]time.Duration
			cycles := []func(){
				func() { cycle(b, short) }, func() { cycle(b, long) },
				func() { peek(b, short) }, func() { peek(b, long) },
			}
			for _, f := range cycles {
				f()
			}
			for b.Loop() {
				for i, f := range cycles {
					began := time.Now()
					f()
					spent[i] = append(spent[i], time.Since(began))
				}
			}
			var median [4]float64
			for i, name := range []string{"short", "long", "short-peek", "long-peek"} {
				slices.Sort(spent[i])
				median[i] = float64(spent[i][len(spent[i])/2].Nanoseconds())
				b.ReportMetric(median[i], name+"-ns/op")
			}
			b.ReportMetric(median[1]/median[0], "long/short")
			b.ReportMetric(median[3]/median[2], "long-peek/short-peek")
		})
	}
}

// head is a queue with items in it.
func head(b *testing.B, servers []string, name string, items int) *queue.Queue {
	b.Helper()
	q, err := queue.New(open(b, servers), queuePath(b, name))
	require.NoError(b, err)
	const each = 1000
	for from := 0; from < items; from += each {
		data := make([][]byte, min(each, items-from))
		for n := range data {
			data[n] = make([]byte, itemSize)
		}
		_, err := q.PutAll(b.Context(), data)
		require.NoError(b, err)
	}
	return q
}

func cycle(b *testing.B, q *queue.Queue) {
	b.Helper()
	i, err := q.Take(b.Context())
	require.NoError(b, err)
	require.NoError(b, i.Ack(b.Context()))
	_, err = q.Put(b.Context(), make([]byte, itemSize))
	require.NoError(b, err)
}

func peek(b *testing.B, q *queue.Queue) {
	b.Helper()
	_, err := q.Peek(b.Context())
	require.NoError(b, err)
}
