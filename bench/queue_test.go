package bench_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// A run moves this many items of this size from producers to consumers, each with a connection of
// its own.
const (
	moved     = 8000
	itemSize  = 100
	producers = 4
	consumers = 4
	batchSize = 100 // of a PutAll
	workers   = 64  // of a consumer: items that it works on at a time
)

// flow is one way to move the items; it is told to begin once everything is connected, and returns
// when all items have been acknowledged.
type flow struct {
	name  string
	run   func()
	spent time.Duration
}

// BenchmarkQueue moves items through a queue, on one server and on three: with acknowledgement, at
// most once, and in the raw form, which creates, gets and deletes one item at a time, without a
// claim, and does not even list: its consumers are told the path by the producers, within the
// process.
func BenchmarkQueue(b *testing.B) {
	for _, servers := range []int{1, 3} {
		b.Run(fmt.Sprintf("servers=%d", servers), func(b *testing.B) {
			server := ensemble.Start(b, servers)
			addrs := server.Servers()
			flows := []*flow{
				{name: "raw", run: rawFlow(b, addrs)},
				{name: "ack", run: troupeFlow(b, addrs, "ack", queue.WithPrefetch(2*workers))},
				{name: "auto", run: troupeFlow(b, addrs, "auto", queue.WithPrefetch(4*workers), queue.WithAutoAck())},
			}
			for _, f := range flows {
				f.run() // the first one makes parents and buffers
			}
			n := 0
			for b.Loop() {
				for _, f := range flows {
					began := time.Now()
					f.run()
					f.spent += time.Since(began)
				}
				n++
			}
			b.StopTimer()
			for _, f := range flows {
				before := count(b, server)
				f.run()
				after := count(b, server)
				b.ReportMetric(float64(after.requests-before.requests)/moved, f.name+"-requests/item")
				b.ReportMetric(float64(after.events-before.events)/moved, f.name+"-events/item")
				b.ReportMetric(float64(n*moved)/f.spent.Seconds(), f.name+"-items/s")
				b.ReportMetric(float64(flows[0].spent)/float64(f.spent), f.name+"/raw")
			}
		})
	}
}

// count is what all servers have counted.
func count(b *testing.B, e *ensemble.Ensemble) (all cost) {
	b.Helper()
	for i := range e.Servers() {
		s, err := e.Stats(i)
		require.NoError(b, err)
		all.requests += s.Requests
		all.events += s.WatchEvents
	}
	return all
}

// rawFlow moves items with the bare requests.
func rawFlow(b *testing.B, servers []string) func() {
	b.Helper()
	dir := "/bench-" + strings.ReplaceAll(b.Name(), "/", "-") + "-raw"
	var clients []*raw
	for range producers + consumers {
		clients = append(clients, newRaw(b, servers, dir))
	}
	data := make([]byte, itemSize)
	return func() {
		made := make(chan string, moved)
		var group sync.WaitGroup
		for _, c := range clients[:producers] {
			group.Go(func() { // ends with its items
				for range moved / producers {
					path, err := c.conn.Create(dir+"/queue-", data, zk.FlagSequence, zk.WorldACL(zk.PermAll))
					if err != nil {
						b.Error(err)
						return
					}
					made <- path
				}
			})
		}
		for _, c := range clients[producers:] {
			group.Go(func() { // ends with its items
				for range moved / consumers {
					path := <-made
					_, _, err := c.conn.Get(path)
					for errors.Is(err, zk.ErrNoNode) { // this client's server is not as far as the producer's
						_, _, err = c.conn.Get(path)
					}
					if err != nil {
						b.Error(err)
					}
					if err := c.conn.Delete(path, -1); err != nil {
						b.Error(err)
					}
				}
			})
		}
		group.Wait()
	}
}

// troupeFlow moves items through a queue.
func troupeFlow(b *testing.B, servers []string, name string, opts ...queue.ConsumeOption) func() {
	b.Helper()
	path := "/bench-" + strings.ReplaceAll(b.Name(), "/", "-") + "-" + name
	newQueue := func() *queue.Queue {
		q, err := queue.New(open(b, servers), path)
		require.NoError(b, err)
		return q
	}
	var queues []*queue.Queue
	for range producers {
		queues = append(queues, newQueue())
	}
	var left atomic.Int64
	done := make(chan struct{}, 1)
	for range consumers {
		c, err := newQueue().Consume(opts...)
		require.NoError(b, err)
		for range workers {
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
	return func() {
		left.Store(moved)
		var group sync.WaitGroup
		for _, q := range queues {
			group.Go(func() { // ends with its items
				batch := make([][]byte, batchSize)
				for n := range batch {
					batch[n] = make([]byte, itemSize)
				}
				for range moved / producers / batchSize {
					if _, err := q.PutAll(b.Context(), batch); err != nil {
						b.Error(err)
					}
				}
			})
		}
		group.Wait()
		<-done
	}
}
