package bench_test

// One item at a time, and how long it takes.

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// BenchmarkQueuePaced puts an item every 20 ms, for one consumer that waits, and reports the time
// from the beginning of the put to the reception, and what it costs until it is acknowledged. The
// raw form creates; its consumer learns of that by a watch, lists, gets, and deletes.
func BenchmarkQueuePaced(b *testing.B) {
	for _, servers := range []int{1, 3} {
		b.Run(fmt.Sprintf("servers=%d", servers), func(b *testing.B) {
			e := ensemble.Start(b, servers)
			forms := []*paced{newPacedRaw(b, e), newPaced(b, e)}
			for b.Loop() {
				for _, f := range forms {
					before := count(b, e)
					for range 100 {
						f.next()
						time.Sleep(20 * time.Millisecond)
					}
					after := count(b, e)
					f.requests += after.requests - before.requests
				}
			}
			var median [2]float64
			for n, f := range forms {
				slices.Sort(f.took)
				median[n] = float64(f.took[len(f.took)/2].Microseconds())
				b.ReportMetric(median[n], f.name+"-p50-µs")
				b.ReportMetric(float64(f.took[len(f.took)*99/100].Microseconds()), f.name+"-p99-µs")
				b.ReportMetric(float64(f.requests)/float64(len(f.took)), f.name+"-requests/item")
			}
			b.ReportMetric(median[1]/median[0], "p50/raw")
		})
	}
}

// paced is one way to have items pass one at a time.
type paced struct {
	name     string
	put      func()
	got      chan time.Time // when an item was received
	took     []time.Duration
	requests int64
}

func (p *paced) next() {
	began := time.Now()
	p.put()
	p.took = append(p.took, (<-p.got).Sub(began))
}

func newPaced(b *testing.B, e *ensemble.Ensemble) *paced {
	b.Helper()
	q, path := (*queue.Queue)(nil), queuePath(b, "paced")
	p := &paced{name: "queue", got: make(chan time.Time, 1)}
	c, err := newQueue(b, e, path).Consume()
	require.NoError(b, err)
	go func() { // ends with the consumer, which ends with its session
		for i := range c.Items() {
			p.got <- time.Now()
			if err := i.Ack(b.Context()); err != nil && b.Context().Err() == nil {
				b.Error(err)
			}
		}
	}()
	q = newQueue(b, e, path)
	p.put = func() {
		_, err := q.Put(b.Context(), make([]byte, itemSize))
		require.NoError(b, err)
	}
	for range 5 {
		p.put()
		<-p.got
	}
	return p
}

func newPacedRaw(b *testing.B, e *ensemble.Ensemble) *paced {
	b.Helper()
	dir := queuePath(b, "raw")
	from, to := newRaw(b, e.Servers(), dir), newRaw(b, e.Servers(), dir)
	p := &paced{name: "raw", got: make(chan time.Time, 1)}
	p.put = func() {
		_, err := from.conn.Create(dir+"/queue-", make([]byte, itemSize), zk.FlagSequence, zk.WorldACL(zk.PermAll))
		require.NoError(b, err)
	}
	go func() { // ends with the connection
		for {
			names, _, changed, err := to.conn.ChildrenW(dir)
			if err != nil {
				return
			}
			if len(names) == 0 {
				<-changed
				continue
			}
			if _, _, err := to.conn.Get(dir + "/" + names[0]); err != nil {
				return
			}
			p.got <- time.Now()
			if err := to.conn.Delete(dir+"/"+names[0], -1); err != nil {
				return
			}
		}
	}()
	for range 5 {
		p.put()
		<-p.got
	}
	return p
}
