package queue_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const path = "/queues/orders"

// each is a subtest in a bubble of its own.
func each(t *testing.T, name any, test func(t *bubble.World), opts ...zktest.Option) {
	t.Helper()
	t.Run(fmt.Sprint(name), func(t *testing.T) {
		t.Parallel()
		bubble.Run(t, test, opts...)
	})
}

func newQueue(t testing.TB, s *session.Session, opts ...queue.Option) *queue.Queue {
	t.Helper()
	q, err := queue.New(s, path, opts...)
	require.NoError(t, err)
	return q
}

func put(t testing.TB, q *queue.Queue, data string, opts ...queue.PutOption) string {
	t.Helper()
	id, err := q.Put(bubble.Minute(t), []byte(data), opts...)
	require.NoError(t, err)
	return id
}

func take(t testing.TB, q *queue.Queue) *queue.Item {
	t.Helper()
	i, err := q.Take(bubble.Minute(t))
	require.NoError(t, err)
	return i
}

// takes takes and acknowledges items, and returns their data.
func takes(t testing.TB, q *queue.Queue, n int) []string {
	t.Helper()
	var all []string
	for range n {
		i := take(t, q)
		all = append(all, string(i.Data()))
		require.NoError(t, i.Ack(bubble.Minute(t)))
	}
	return all
}

// consumer is one that is closed at the end of the test.
func consumer(t testing.TB, q *queue.Queue, opts ...queue.ConsumeOption) *queue.Consumer {
	t.Helper()
	c, err := q.Consume(opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(bubble.Minute(t)) })
	return c
}

func length(t testing.TB, q *queue.Queue) int {
	t.Helper()
	n, err := q.Len(bubble.Minute(t))
	require.NoError(t, err)
	return n
}

// numbered are n data, "0", "1" and so on.
func numbered(from, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(from + i)
	}
	return all
}

// data are numbers, for PutAll.
func data(from, n int) [][]byte {
	var all [][]byte
	for _, d := range numbered(from, n) {
		all = append(all, []byte(d))
	}
	return all
}

func mustPeek(t testing.TB, q *queue.Queue) queue.Entry {
	t.Helper()
	e, err := q.Peek(bubble.Minute(t))
	require.NoError(t, err)
	return e
}

// deadLetters is the queue of them.
func deadLetters(t testing.TB, s *session.Session) *queue.Queue {
	t.Helper()
	dead, err := queue.New(s, path+"/dead")
	require.NoError(t, err)
	return dead
}

// receives receives an item of a consumer, and acknowledges it.
func receives(t testing.TB, c *queue.Consumer, want string) {
	t.Helper()
	i := bubble.Get(t, c.Items(), want)
	require.Equal(t, want, string(i.Data()))
	require.NoError(t, i.Ack(bubble.Minute(t)))
}

func closed(t testing.TB, all []*queue.Consumer, takes *sync.WaitGroup) {
	t.Helper()
	for _, c := range all {
		require.NoError(t, c.Close(bubble.Minute(t)))
	}
	takes.Wait()
}

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

// putTogether puts n items in transactions of at most 250.
func putTogether(t testing.TB, q *queue.Queue, n int) {
	t.Helper()
	for from := 0; from < n; from += 250 {
		_, err := q.PutAll(bubble.Minute(t), data(from, min(250, n-from)))
		require.NoError(t, err)
	}
}

// putAlone puts n items one at a time.
func putAlone(t testing.TB, q *queue.Queue, n int) {
	t.Helper()
	for _, d := range numbered(0, n) {
		put(t, q, d)
	}
}
