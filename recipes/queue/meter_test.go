package queue_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/zktest"
)

// trip is how long a request takes in the tests that count: time passes, as on a network.
const trip = time.Millisecond

// meter counts the requests that a server receives. Signs of life, handshakes and the proofs of
// trust (syncs of the root) are not a recipe's.
type meter struct {
	mu  sync.Mutex
	ops map[zktest.Op]int
}

// metered counts from now on, and lets each request take a trip.
func metered(w *bubble.World) *meter {
	w.Helper()
	m := &meter{ops: make(map[zktest.Op]int)}
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.Op == zktest.OpPing || r.Op == zktest.OpConnect || r.Op == zktest.OpSync && r.Path == "/" {
			return zktest.Pass
		}
		m.mu.Lock()
		m.ops[r.Op]++
		m.mu.Unlock()
		return zktest.Delay(trip)
	}))
	return m
}

// requests is how many there were so far.
func (m *meter) requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, k := range m.ops {
		n += k
	}
	return n
}

// of is how many there were of a kind.
func (m *meter) of(op zktest.Op) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ops[op]
}

// spent is how many requests f causes, until all is quiet.
func (m *meter) spent(f func()) int {
	settled()
	before := m.requests()
	f()
	settled()
	return m.requests() - before
}

// settled lets what is on its way arrive.
func settled() {
	time.Sleep(20 * trip)
	synctest.Wait()
}

// fired is how many watch events the requests in the server's journal have caused.
func fired(z *zktest.Server) (events int) {
	for _, r := range z.Journal() {
		events += r.Fired
	}
	return events
}

// workers are goroutines that end with consumers, which are made after this, and closed before
// these are waited for, if the test fails, too.
func workers(t testing.TB) *sync.WaitGroup {
	t.Helper()
	group := new(sync.WaitGroup)
	t.Cleanup(group.Wait)
	return group
}

// acknowledging receives items of a consumer until it ends, acknowledges each, and tells of it. Any
// number of workers.
func acknowledging(t testing.TB, group *sync.WaitGroup, c *queue.Consumer, workers int, done func(i *queue.Item)) {
	for range workers {
		group.Go(func() { // ends with the consumer
			for i := range c.Items() {
				if err := i.Ack(bubble.Minute(t)); err != nil {
					t.Errorf("ack %s: %v", i.Data(), err)
					return
				}
				done(i)
			}
		})
	}
}

// putTogether puts n items in transactions of at most a thousand.
func putTogether(t testing.TB, q *queue.Queue, n int) {
	t.Helper()
	for from := 0; from < n; from += 1000 {
		_, err := q.PutAll(bubble.Minute(t), data(from, min(1000, n-from)))
		require.NoError(t, err)
	}
}

// putAlone puts n items one at a time, each in a znode of its own whatever the layout.
func putAlone(t testing.TB, q *queue.Queue, n int) {
	t.Helper()
	for _, d := range numbered(0, n) {
		put(t, q, d)
	}
}
