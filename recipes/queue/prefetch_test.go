package queue_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
)

// job is half a second of work.
const job = 500 * time.Millisecond

// working receives items and works on each for a while, with one worker, until the consumer ends.
// It counts what it has done.
func working(t testing.TB, group *sync.WaitGroup, c *queue.Consumer, each time.Duration, done chan<- *queue.Consumer) {
	group.Go(func() { // ends with the consumer
		for i := range c.Items() {
			time.Sleep(each)
			if err := i.Ack(bubble.Minute(t)); err != nil {
				t.Errorf("ack %s: %v", i.Data(), err)
			}
			done <- c
		}
	})
}

// Sixteen jobs of half a second, put at once, and two consumers that nobody has told anything: each
// does half of them.
func TestPrefetchSharesFewLongJobs(t *testing.T) {
	t.Parallel()
	for how, fill := range map[string]func(t testing.TB, q *queue.Queue, n int){"put alone": putAlone, "put together": putTogether} {
		for when, first := range map[string]bool{"put before": true, "put after": false} {
			t.Run(how+", "+when, func(t *testing.T) {
				t.Parallel()
				bubble.Run(t, func(t *bubble.World) {
					const jobs = 16
					metered(t)
					q := newQueue(t, t.Session())
					if first {
						fill(t, q, jobs)
					}
					done := make(chan *queue.Consumer, 2*jobs)
					group := workers(t)
					var all []*queue.Consumer
					began := time.Now()
					for range 2 {
						c := consumer(t, newQueue(t, t.Session()))
						all = append(all, c)
						working(t, group, c, job, done)
					}
					if !first {
						fill(t, q, jobs)
					}
					by := make(map[*queue.Consumer]int)
					for range jobs {
						by[bubble.Get(t, done, "a job")]++
					}
					took := time.Since(began)
					closed(t, all, group)
					t.Logf("%d and %d jobs, %v", by[all[0]], by[all[1]], took)
					for _, c := range all {
						require.GreaterOrEqual(t, by[c], jobs/2-1, "jobs of a consumer")
					}
					require.Less(t, took, (jobs/2+2)*job)
				})
			})
		}
	}
}

// A consumer that settled quickly holds many by now. When its jobs become long, and another
// consumer waits, what nobody works on goes back at once, unseen: as a first attempt.
func TestPrefetchGoesBackToWhoWaits(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		const jobs = 16
		metered(t)
		q := newQueue(t, t.Session())
		group := workers(t)
		first := consumer(t, newQueue(t, t.Session()))
		putTogether(t, q, 500)
		for range 500 {
			require.NoError(t, bubble.Get(t, first.Items(), "a quick item").Ack(bubble.Minute(t)))
		}
		putAlone(t, q, jobs)
		done := make(chan *queue.Consumer, 2*jobs)
		working(t, group, first, job, done)
		time.Sleep(3 * job)
		began := time.Now()
		second := consumer(t, newQueue(t, t.Session()))
		i := bubble.Within(t, time.Second, second.Items(), "an item for the one that waits")
		require.Less(t, time.Since(began), job, "until the other consumer has one")
		require.Equal(t, 1, i.Attempt(), "nobody had received it")
		require.NoError(t, i.Ack(bubble.Minute(t)))
		done <- second
		working(t, group, second, job, done)
		by := make(map[*queue.Consumer]int)
		for range jobs {
			by[bubble.Get(t, done, "a job")]++
		}
		closed(t, []*queue.Consumer{first, second}, group)
		t.Logf("%d and %d jobs", by[first], by[second])
		require.GreaterOrEqual(t, by[second], jobs/3, "jobs of the one that waited")
	})
}

// WithPrefetch fixes the number: it neither grows nor goes back.
func TestPrefetchFixed(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		metered(t)
		q := newQueue(t, t.Session())
		first := consumer(t, newQueue(t, t.Session()), queue.WithPrefetch(10))
		putAlone(t, q, 12)
		settled()
		second := consumer(t, newQueue(t, t.Session()), queue.WithPrefetch(1))
		require.Equal(t, "10", string(bubble.Get(t, second.Items(), "an item").Data()))
		settled()
		for _, want := range numbered(0, 10) {
			require.Equal(t, want, string(bubble.Get(t, first.Items(), "an item").Data()))
		}
	})
}

// It adapts: quick work costs few requests without anybody's advice. Of items put together, which
// sixteen goroutines acknowledge, each costs at most six tenths of a request (a fifth is the aim).
func TestPrefetchGrowsWithQuickWork(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		const items = 2000
		m := metered(t)
		q := newQueue(t, t.Session())
		putTogether(t, q, items)
		done := make(chan *queue.Item, items)
		group := workers(t)
		c := consumer(t, newQueue(t, t.Session()))
		spent := m.spent(func() {
			acknowledging(t, group, c, 16, func(i *queue.Item) { done <- i })
			for range items {
				bubble.Get(t, done, "an item")
			}
		})
		closed(t, []*queue.Consumer{c}, group)
		within(t, m, spent, items, 0.6)
	})
}

// A set is claimed as a whole, and may be more than WithPrefetch says: no more is handed out all
// the same, and what is beyond goes to whoever waits.
func TestPrefetchIsNotExceededBySets(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		metered(t)
		putTogether(t, newQueue(t, t.Session()), 10)
		first := consumer(t, newQueue(t, t.Session()), queue.WithPrefetch(2))
		for _, want := range numbered(0, 2) {
			require.Equal(t, want, string(bubble.Get(t, first.Items(), "an item").Data()))
		}
		select {
		case i := <-first.Items():
			t.Fatalf("%s is the third that is not settled", i.Data())
		case <-time.After(time.Minute):
		}
		second := consumer(t, newQueue(t, t.Session()), queue.WithPrefetch(1))
		i := bubble.Within(t, time.Minute, second.Items(), "what the first may not have")
		require.Equal(t, 1, i.Attempt())
		require.NotContains(t, numbered(0, 2), string(i.Data()))
	})
}
