// The helpers of this package's tests: queues and consumers in a bubble, and what they do and cost.

package queue_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

const (
	path = "/queues/orders"
	head = path + "/items/0-0000000000" // the bucket in which most tests have all items
)

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, test func(t *bubble.World), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	bubble.Run(t, test, opts...)
}

// each runs a subtest in a bubble of its own.
func each(t *testing.T, name any, test func(t *bubble.World), opts ...zktest.Option) {
	t.Helper()
	t.Run(fmt.Sprint(name), func(t *testing.T) { inBubble(t, test, opts...) })
}

// atEach is a subtest that runs a test in bubbles again and again, until something has happened at
// each request that its session makes; the request gets the verdict. Syncs are left out: they prove
// that the session is trusted.
func atEach(t *testing.T, name string, happens func(t *bubble.World, s *session.Session) zktest.Verdict, test func(t *bubble.World, s *session.Session)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		for k, more := 1, true; more; k++ {
			more = false
			t.Run(fmt.Sprint(k), func(t *testing.T) {
				bubble.Run(t, func(t *bubble.World) {
					s := t.Session()
					met := t.AtKth(s, k, func(*zktest.Request) zktest.Verdict { return happens(t, s) }, zktest.OpSync)
					test(t, s)
					more = met()
				})
			})
			require.Less(t, k, 300, "it has an end")
		}
	})
}

func newQueue(t testing.TB, s *session.Session, opts ...queue.Option) *queue.Queue {
	t.Helper()
	return queueAt(t, s, path, opts...)
}

func queueAt(t testing.TB, s *session.Session, path string, opts ...queue.Option) *queue.Queue {
	t.Helper()
	return must(queue.New(s, path, opts...))
}

func deadLetters(t testing.TB, s *session.Session) *queue.Queue {
	t.Helper()
	return queueAt(t, s, path+"/dead")
}

func put(t testing.TB, q *queue.Queue, data string, opts ...queue.PutOption) string {
	t.Helper()
	return must(q.Put(bubble.Minute(t), []byte(data), opts...))
}

// refuses fails unless a put ends with this error.
func refuses(t testing.TB, q *queue.Queue, want error, opts ...queue.PutOption) {
	t.Helper()
	require.ErrorIs(t, errOf(q.Put(bubble.Minute(t), []byte("refused"), opts...)), want)
}

// putAll puts n numbers in one transaction.
func putAll(t testing.TB, q *queue.Queue, from, n int, opts ...queue.PutOption) []string {
	t.Helper()
	return must(q.PutAll(bubble.Minute(t), data(from, n), opts...))
}

// putMany puts the numbers below n in transactions of at most 250.
func putMany(t testing.TB, q *queue.Queue, n int) {
	t.Helper()
	for from := 0; from < n; from += 250 {
		putAll(t, q, from, min(250, n-from))
	}
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

func take(t testing.TB, q *queue.Queue) *queue.Item {
	t.Helper()
	return must(q.Take(bubble.Minute(t)))
}

// takeOne takes an item that has these data.
func takeOne(t testing.TB, q *queue.Queue, want string) *queue.Item {
	t.Helper()
	i := take(t, q)
	require.Equal(t, want, string(i.Data()))
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

// back returns an item at once.
func back(t testing.TB, i *queue.Item) {
	t.Helper()
	require.NoError(t, i.Nack(bubble.Minute(t), queue.WithPause(0)))
}

// consumer is one that is closed at the end of the test.
func consumer(t testing.TB, q *queue.Queue, opts ...queue.ConsumeOption) *queue.Consumer {
	t.Helper()
	c := must(q.Consume(opts...))
	t.Cleanup(func() { _ = c.Close(bubble.Minute(t)) })
	return c
}

// gets receives an item of a consumer.
func gets(t testing.TB, c *queue.Consumer, want string) *queue.Item {
	t.Helper()
	i := bubble.Get(t, c.Items(), want)
	require.Equal(t, want, string(i.Data()))
	return i
}

// receives receives an item of a consumer, and acknowledges it.
func receives(t testing.TB, c *queue.Consumer, want string) {
	t.Helper()
	require.NoError(t, gets(t, c, want).Ack(bubble.Minute(t)))
}

func length(t testing.TB, q *queue.Queue) int {
	t.Helper()
	return must(q.Stats(bubble.Minute(t))).Items
}

// below are the names below a path.
func below(t testing.TB, s *session.Session, path string) []string {
	t.Helper()
	names, _, err := s.Children(bubble.Minute(t), path)
	require.NoError(t, err)
	return names
}

// trip is how long a request takes in the tests that count: time passes, as on a network.
const trip = time.Millisecond

// meter counts the requests that a server receives. Signs of life, handshakes and the proofs of
// trust (syncs of the root) are not a recipe's.
type meter struct{ atomic.Int64 }

// metered counts from now on, and lets each request take a trip.
func metered(w *bubble.World) *meter {
	w.Helper()
	m := new(meter)
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.Op == zktest.OpPing || r.Op == zktest.OpConnect || r.Op == zktest.OpSync && r.Path == "/" {
			return zktest.Pass
		}
		m.Add(1)
		return zktest.Delay(trip)
	}))
	return m
}

// spent is how many requests f causes, until all is quiet.
func (m *meter) spent(f func()) int {
	settled()
	before := m.Load()
	f()
	settled()
	return int(m.Load() - before)
}

// settled lets what is on its way arrive.
func settled() {
	time.Sleep(20 * trip)
	synctest.Wait()
}

// workers are goroutines that end with consumers, which are made after this, and closed before
// these are waited for, if the test fails, too.
func workers(t testing.TB) *sync.WaitGroup {
	t.Helper()
	group := new(sync.WaitGroup)
	t.Cleanup(group.Wait)
	return group
}

// closed closes consumers, and waits for their workers.
func closed(t testing.TB, all []*queue.Consumer, group *sync.WaitGroup) {
	t.Helper()
	for _, c := range all {
		require.NoError(t, c.Close(bubble.Minute(t)))
	}
	group.Wait()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func errOf[T any](_ T, err error) error { return err }
