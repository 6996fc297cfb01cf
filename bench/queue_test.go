package bench_test

// Items through a queue, beside bare requests.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

const (
	itemSize = 100
	setSize  = 100 // items of a PutAll
)

// moved is how many items a run moves.
var moved = flag.Int("queue.moved", 4000, "items that a run of BenchmarkQueue moves")

// party is who moves items: processes with a connection each, and so many goroutines in each that
// put at the same time, or work on an item at the same time.
type party struct {
	producers, consumers, each int
}

func (p party) String() string {
	return fmt.Sprintf("producers=%d/consumers=%d/each=%d", p.producers, p.consumers, p.each)
}

// BenchmarkQueue moves items through a queue, on one server and on three, by plain Put and by
// PutAll, acknowledged and at most once; and in the raw form with as many goroutines, which
// creates, gets and deletes one item at a time, without a claim, and does not even list: its
// consumers are told the path by the producers, within the process.
func BenchmarkQueue(b *testing.B) {
	for _, servers := range []int{1, 3} {
		for _, p := range []party{{4, 4, 16}, {4, 4, 1}, {1, 1, 1}, {1, 1, 16}} {
			b.Run(fmt.Sprintf("servers=%d/%v", servers, p), func(b *testing.B) {
				e := ensemble.Start(b, servers)
				adapting, fixed := queue.WithWorkers(p.each), queue.WithPrefetch(64)
				compare(b, e, share{"item", *moved, 1},
					&form{name: "raw", cycle: timed(rawFlow(b, e, p))},
					&form{name: "ack", cycle: timed(p.flow(b, e, "ack", 1, adapting))},
					&form{name: "ack64", cycle: timed(p.flow(b, e, "ack64", 1, fixed))},
					&form{name: "auto", cycle: timed(p.flow(b, e, "auto", 1, adapting, queue.WithAutoAck()))},
					&form{name: "all", cycle: timed(p.flow(b, e, "all", setSize, adapting))},
					&form{name: "allauto", cycle: timed(p.flow(b, e, "allauto", setSize, adapting, queue.WithAutoAck()))})
			})
		}
	}
}

// shared has goroutines of several processes do something so many times in all.
func shared(processes, each, times int, do func(process int)) {
	var left atomic.Int64
	left.Store(int64(times))
	var group sync.WaitGroup
	for n := range processes {
		for range each {
			group.Go(func() { // ends with the work
				for left.Add(-1) >= 0 {
					do(n)
				}
			})
		}
	}
	group.Wait()
}

// rawFlow moves items with the bare requests.
func rawFlow(b *testing.B, e *ensemble.Ensemble, p party) func() {
	b.Helper()
	dir := pathFor(b, "raw")
	var clients []*raw
	for range p.producers + p.consumers {
		clients = append(clients, newRaw(b, e.Servers(), dir))
	}
	data := make([]byte, itemSize)
	return func() {
		made := make(chan string, *moved)
		var group sync.WaitGroup
		group.Go(func() { // ends with its items
			shared(p.producers, p.each, *moved, func(n int) {
				path, err := clients[n].conn.Create(dir+"/queue-", data, zk.FlagSequence, zk.WorldACL(zk.PermAll))
				if err != nil {
					b.Error(err)
				}
				made <- path
			})
		})
		shared(p.consumers, p.each, *moved, func(n int) { clients[p.producers+n].consume(b, <-made) })
		group.Wait()
	}
}

// consume gets and deletes an item.
func (r *raw) consume(b *testing.B, path string) {
	_, _, err := r.conn.Get(path)
	for errors.Is(err, zk.ErrNoNode) { // this client's server is not as far as the producer's
		_, _, err = r.conn.Get(path)
	}
	if err == nil {
		err = r.conn.Delete(path, -1)
	}
	if err != nil {
		b.Error(err)
	}
}

// flow moves items through a queue, so many with each call.
func (p party) flow(b *testing.B, e *ensemble.Ensemble, name string, together int, opts ...queue.ConsumeOption) func() {
	b.Helper()
	path := pathFor(b, name)
	var queues []*queue.Queue
	for range p.producers {
		queues = append(queues, newQueue(b, e, path))
	}
	var left atomic.Int64
	done := make(chan struct{}, 1)
	for range p.consumers {
		c, err := newQueue(b, e, path).Consume(opts...)
		require.NoError(b, err)
		for range p.each {
			go func() { // ends with the consumer, which ends with its session
				for i := range c.Items() {
					if err := i.Ack(context.Background()); err != nil {
						b.Error(err)
					}
					if left.Add(-1) == 0 {
						done <- struct{}{}
					}
				}
			}()
		}
	}
	data := make([][]byte, together)
	for n := range data {
		data[n] = make([]byte, itemSize)
	}
	return func() {
		left.Store(int64(*moved))
		shared(p.producers, p.each, *moved/together, func(n int) {
			var err error
			if together == 1 {
				_, err = queues[n].Put(b.Context(), data[0])
			} else {
				_, err = queues[n].PutAll(b.Context(), data)
			}
			if err != nil {
				b.Error(err)
			}
		})
		<-done
	}
}

// newQueue is a queue with a session of its own.
func newQueue(b *testing.B, e *ensemble.Ensemble, path string) *queue.Queue {
	b.Helper()
	q, err := queue.New(open(b, e.Servers()), path)
	require.NoError(b, err)
	return q
}
