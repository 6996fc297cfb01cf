// What a queue costs: requests and watch events, trips and time, with many consumers or items.
// Helpers: crowd, here; the others in world_test.go.

package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// crowd are consumers that wait, each on a session of its own.
type crowd struct {
	*bubble.World
	*meter
	q     *queue.Queue
	all   []*queue.Consumer
	group *sync.WaitGroup
	got   chan *queue.Item
}

func crowded(t *bubble.World, waiting int) *crowd {
	c := &crowd{World: t, meter: metered(t), q: newQueue(t, t.Session()), got: make(chan *queue.Item, 1000), group: workers(t)}
	for range waiting {
		c.join()
	}
	return c
}

// join has one more consumer wait, on the session that it returns.
func (c *crowd) join() *session.Session {
	s := c.Session()
	one := consumer(c, newQueue(c, s))
	c.all = append(c.all, one)
	c.group.Go(func() { // ends with the consumer
		for i := range one.Items() {
			if err := i.Ack(bubble.Minute(c)); err != nil {
				c.Errorf("ack %s: %v", i.Data(), err)
			}
			c.got <- i
		}
	})
	return s
}

// costs is how many requests and watch events f causes until all wait again.
func (c *crowd) costs(f func()) (requests, events int) {
	time.Sleep(2 * time.Second) // what is armed is armed
	c.Server.ClearJournal()
	requests = c.spent(func() {
		f()
		time.Sleep(2 * time.Second)
	})
	for _, r := range c.Server.Journal() {
		events += r.Fired
	}
	return requests, events
}

// next puts an item, and awaits that it is acknowledged.
func (c *crowd) next(opts ...queue.PutOption) {
	put(c, c.q, "x", opts...)
	bubble.Within(c, 10*time.Second, c.got, "the item")
}

// One item for many waiting consumers is the business of three: beside the put itself, so many
// requests and watch events until it is acknowledged and all wait again, however many wait.
func TestHerdOfOnePut(t *testing.T) {
	t.Parallel()
	// By the number of consumers: requests without the put, and watch events.
	for waiting, want := range map[int][2]int{1: {7, 1}, 2: {10, 3}, 3: {11, 4}, 4: {11, 4}, 16: {11, 4}, 64: {11, 4}} {
		each(t, fmt.Sprint(waiting), func(t *bubble.World) {
			c := crowded(t, waiting)
			for range 5 { // what is made once
				c.next()
				time.Sleep(5 * time.Second)
			}
			for range waiting + 5 {
				requests, events := c.costs(func() { c.next() })
				require.LessOrEqual(t, requests-1, want[0]+1, "requests: one more of a consumer that arms consumers/ for the first time")
				require.LessOrEqual(t, events, want[1], "events")
			}
			requests, events := c.costs(func() { c.next() })
			require.Equal(t, want, [2]int{requests - 1, events}, "exactly as with four")
			time.Sleep(2 * time.Minute) // the producer has ended
			rest, _ := c.costs(func() { time.Sleep(10 * time.Minute) })
			require.Zero(t, rest, "requests at rest")
			closed(t, c.all, c.group)
		})
	}
}

// Items that become available otherwise wake a few consumers, too: a delayed item, which rings when
// it is put and when it is due; a returned one; one of a consumer that has died.
func TestHerdOfWhatComesBack(t *testing.T) {
	t.Parallel()
	for name, comes := range map[string]func(c *crowd, i *queue.Item){
		"delayed":  func(c *crowd, _ *queue.Item) { put(c, c.q, "x", queue.WithDelay(time.Second)) },
		"returned": func(c *crowd, i *queue.Item) { back(c, i) },
		"dead":     func(c *crowd, i *queue.Item) { require.NoError(c, i.Session().Close(bubble.Minute(c))) },
	} {
		each(t, name, func(t *bubble.World) {
			c := crowded(t, 0)
			put(t, c.q, "x")
			i := take(t, newQueue(t, t.Session()))
			for range 64 {
				c.join()
			}
			for range 3 { // what is made once
				c.next(queue.WithDelay(time.Second))
			}
			requests, events := c.costs(func() {
				comes(c, i)
				bubble.Within(t, 10*time.Second, c.got, "the item")
			})
			require.LessOrEqual(t, requests, 32)
			require.LessOrEqual(t, events, 8)
			closed(t, c.all, c.group)
		})
	}
}

// A single item is with an idle consumer within four round trips after Put has returned.
func TestAnItemIsThereWithinFourTrips(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		metered(t)
		q, c := newQueue(t, t.Session()), consumer(t, newQueue(t, t.Session()))
		for range 3 {
			time.Sleep(5 * time.Second) // it is idle
			put(t, q, "x")
			began := time.Now()
			i := gets(t, c, "x")
			require.LessOrEqual(t, time.Since(began), 4*trip)
			require.NoError(t, i.Ack(bubble.Minute(t)))
		}
	})
}

// ZooKeeper's Tech Note 4: a queue that has grown can't be listed any more, so it can't be drained.
// Here no znode has more than a thousand children, however many items there are; it can be counted,
// read and drained in order; and the first items cost no more than in a short queue.
func TestB57_TwoHundredThousandItems(t *testing.T) {
	t.Parallel()
	items := tier.Count(5_000, 200_000)
	bubble.Run(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		putMany(t, q, items)
		for n := range 8 {
			putAll(t, q, 0, 250, queue.WithDelay(time.Hour+time.Duration(n)*time.Second))
		}
		require.Equal(t, items+2000, length(t, q))
		c := consumer(t, newQueue(t, t.Session()), queue.WithPrefetch(1200))
		for _, d := range numbered(0, 1200) {
			gets(t, c, d)
		}
		largest := 0
		var walk func(p string)
		walk = func(p string) {
			names := must(t.Server.Znodes(t).Children(p))
			largest = max(largest, len(names))
			for _, name := range names {
				walk(p + "/" + name)
			}
		}
		walk(path)
		require.LessOrEqual(t, largest, 1000, "names in a listing")
		require.Equal(t, "1200", string(must(q.Peek(bubble.Minute(t))).Data))
		require.NoError(t, c.Close(bubble.Minute(t)))

		m := metered(t)
		taker := newQueue(t, t.Session())
		require.LessOrEqual(t, m.spent(func() { require.Equal(t, numbered(0, 1), takes(t, taker, 1)) }), 30, "the first, with what is made once")
		require.LessOrEqual(t, m.spent(func() { require.Equal(t, numbered(1, 20), takes(t, taker, 20)) }), 20*8, "requests of twenty")
	}, zktest.WithJournal(1))
}

// Puts and settlements of one process at the same moment share transactions, and one when nothing
// else is going on is sent at once.
func TestConcurrentPutsAndSettlementsShareTransactions(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		const items = 1000
		m := metered(t)
		q := newQueue(t, t.Session())
		put(t, q, "first")
		settled()
		began, before := time.Now(), m.Load()
		put(t, q, "alone")
		require.Equal(t, trip, time.Since(began), "the time of one request")
		require.EqualValues(t, 1, m.Load()-before)
		beside := func(do func(n int) error) {
			var group sync.WaitGroup
			for n := range items {
				group.Go(func() { // ends with its answer
					if err := do(n); err != nil {
						t.Errorf("%d: %v", n, err)
					}
				})
			}
			group.Wait()
		}
		require.LessOrEqual(t, m.spent(func() {
			beside(func(n int) error {
				_, err := q.Put(bubble.Minute(t), fmt.Append(nil, n))
				return err
			})
		}), 20)
		require.Equal(t, items+2, length(t, q))
		c := consumer(t, q, queue.WithPrefetch(items))
		all := make([]*queue.Item, items)
		for n := range all {
			all[n] = bubble.Get(t, c.Items(), "an item")
		}
		require.LessOrEqual(t, m.spent(func() {
			beside(func(n int) error {
				if n%4 == 3 {
					return all[n].Nack(bubble.Minute(t))
				}
				return all[n].Ack(bubble.Minute(t))
			})
			require.NoError(t, c.Close(bubble.Minute(t)))
		}), items/4)
		require.Equal(t, items/4+2, length(t, q))
	})
}

// kazoo#175: ten thousand impatient takes on an empty queue leave no watch, no znode and no
// goroutine behind. An item that was claimed for a take that has ended goes to the next.
func TestB53_ImpatientTakes(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		put(t, q, "x")
		takes(t, q, 1)
		impatient := func(patience time.Duration) *queue.Item {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			i, err := q.Take(ctx)
			if i == nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
			return i
		}
		impatient(trip)
		synctest.Wait()
		t.Server.ClearJournal()
		znodes := func() int { return strings.Count(t.Server.Dump(), "\n") } // and sessions
		before := znodes()
		for range 10_000 {
			require.Nil(t, impatient(trip))
		}
		synctest.Wait()
		require.Equal(t, before, znodes())
		armed := 0
		for _, r := range t.Server.Journal() {
			if r.Watch {
				armed++
			}
		}
		require.LessOrEqual(t, armed, 2)

		metered(t)
		put(t, q, "x")
		for n := range 20 {
			if i := impatient(time.Duration(n) * trip); i != nil {
				back(t, i)
			}
		}
		require.Equal(t, []string{"x"}, takes(t, newQueue(t, t.Session()), 1))
	})
}

// Nothing lies with a consumer that is busy for two hours while others are idle.
func TestNothingLiesWithABusyConsumer(t *testing.T) {
	t.Parallel()
	const items = 60
	for _, before := range []int{items, 0} {
		each(t, fmt.Sprint("put before: ", before), func(t *bubble.World) {
			c := crowded(t, 0)
			putMany(t, c.q, before)
			busy := consumer(t, newQueue(t, t.Session()))
			for range 3 {
				c.join()
			}
			putMany(t, c.q, items-before)
			i := bubble.Get(t, busy.Items(), "an item for two hours")
			time.Sleep(time.Minute)
			require.Len(t, c.got, items-1, "the others have done the rest")
			time.Sleep(2 * time.Hour)
			require.NoError(t, i.Ack(bubble.Minute(t)))
			closed(t, c.all, c.group)
			require.Equal(t, 0, length(t, c.q))
		})
	}
}

// drained is how long it takes until the first counted consumers have acknowledged so many items of
// a queue that has more. There is a consumer for each link, which is how long its requests and
// replies take, one way. An item takes some work.
func drained(t *testing.T, items, counted int, work time.Duration, links ...time.Duration) (took time.Duration) {
	bubble.Run(t, func(t *bubble.World) {
		putMany(t, newQueue(t, t.Session()), items*5/4)
		group, done := workers(t), make(chan struct{}, 2*items)
		var all []*queue.Consumer
		began := time.Now()
		for n, link := range links {
			s := t.Session()
			t.Cleanup(t.Server.Slow(s.Status().SessionID, link))
			c := consumer(t, newQueue(t, s))
			all = append(all, c)
			group.Go(func() { // ends with the consumer
				for i := range c.Items() {
					time.Sleep(work)
					if err := i.Ack(bubble.Minute(t)); err != nil && !errors.Is(err, session.ErrClosed) {
						t.Error(err)
					} else if n < counted {
						done <- struct{}{}
					}
				}
			})
		}
		for range items {
			bubble.Within(t, time.Hour, done, "an item")
		}
		took = time.Since(began)
		closed(t, all, group)
	})
	return took
}

// Claims go on side by side: at round trips of 10 ms sixteen consumers do at least 200 items a
// second without work, and 90 with 100 ms of work each.
func TestClaimsGoOnSideBySide(t *testing.T) {
	t.Parallel()
	for work, least := range map[time.Duration]int{0: 200, 100 * time.Millisecond: 90} {
		t.Run(work.String(), func(t *testing.T) {
			t.Parallel()
			const items = 320
			took := drained(t, items, 16, work, slices.Repeat([]time.Duration{5 * time.Millisecond}, 16)...)
			t.Logf("%.0f items a second", items/took.Seconds())
			require.Less(t, took, items*time.Second/time.Duration(least))
		})
	}
}

// One consumer at round trips of 100 ms does not slow seven at 0.2 ms.
func TestASlowLinkSlowsNobodyElse(t *testing.T) {
	t.Parallel()
	const items = 300
	quick := slices.Repeat([]time.Duration{100 * time.Microsecond}, 7)
	alone := drained(t, items, 7, 0, quick...)
	beside := drained(t, items, 7, 0, append(quick, 50*time.Millisecond)...)
	t.Logf("%v alone, %v beside the slow one", alone, beside)
	require.Less(t, beside, alone*5/4)
}

// A consumer that hangs at any place in line holds up the others for a second at most, and only
// once: the second takes the first's place away.
func TestAConsumerThatHangsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for _, hangs := range []int{0, 1, 2} {
		each(t, fmt.Sprint("place ", hangs), func(t *bubble.World) {
			c := crowded(t, 0)
			var hung int64
			for n := range 4 {
				s := c.join()
				time.Sleep(time.Second) // so that they are in line in this order
				if n == hangs {
					hung = s.Status().SessionID
				}
			}
			heal := t.Server.Partition(hung)
			began := time.Now()
			for range 8 {
				c.next()
			}
			require.Less(t, time.Since(began), time.Second, "eight items")
			heal()
			closed(t, c.all, c.group)
			require.Equal(t, 0, length(t, c.q))
		})
	}
}
