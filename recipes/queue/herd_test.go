package queue_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/queue"
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
	c.join(waiting)
	return c
}

// join has so many more consumers wait.
func (c *crowd) join(waiting int) {
	for range waiting {
		one := consumer(c, newQueue(c, c.Session()))
		c.all = append(c.all, one)
		acknowledging(c, c.group, one, 1, func(i *queue.Item) { c.got <- i })
	}
}

// costs is how many requests and watch events something causes until all wait again.
func (c *crowd) costs(f func()) (requests, events int) {
	time.Sleep(2 * time.Second) // what is armed is armed
	c.Server.ClearJournal()
	requests = c.spent(func() {
		f()
		time.Sleep(2 * time.Second)
	})
	return requests, fired(c.Server)
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

// What becomes available otherwise wakes a few, too: a delayed item, that rings when it is put and
// when it is due; what is returned; what a dead consumer had.
func TestHerdOfWhatComesBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(c *crowd) (requests, events int){
		"delayed": func(c *crowd) (int, int) {
			c.join(64)
			for range 3 { // what is made once
				c.next(queue.WithDelay(time.Second))
			}
			return c.costs(func() { c.next(queue.WithDelay(time.Second)) })
		},
		"returned": func(c *crowd) (int, int) {
			i := c.held()
			return c.costs(func() {
				require.NoError(c, i.Nack(bubble.Minute(c), queue.After(0)))
				bubble.Within(c, 10*time.Second, c.got, "the item")
			})
		},
		"dead": func(c *crowd) (int, int) {
			i := c.held()
			return c.costs(func() {
				require.NoError(c, i.Session().Close(bubble.Minute(c)))
				bubble.Within(c, 10*time.Second, c.got, "the item")
			})
		},
	} {
		each(t, name, func(t *bubble.World) {
			c := crowded(t, 0)
			requests, events := test(c)
			t.Logf("%d requests, %d events", requests, events)
			require.LessOrEqual(t, requests, 32)
			require.LessOrEqual(t, events, 8)
			closed(t, c.all, c.group)
		})
	}
}

// held is an item that somebody has when the others come.
func (c *crowd) held() *queue.Item {
	put(c, c.q, "x")
	i := take(c, newQueue(c, c.Session()))
	c.join(64)
	return i
}

// A single item is with an idle consumer within four round trips after Put has returned.
func TestAnItemIsThereWithinFourTrips(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		metered(t)
		q, c := newQueue(t, t.Session()), consumer(t, newQueue(t, t.Session()))
		for range 3 {
			time.Sleep(5 * time.Second) // it is idle
			put(t, q, "x")
			began := time.Now()
			i := bubble.Get(t, c.Items(), "the item")
			require.LessOrEqual(t, time.Since(began), 4*trip)
			require.NoError(t, i.Ack(bubble.Minute(t)))
		}
	})
}

// ZooKeeper's Tech Note 4: a queue that has grown can't be listed any more, so it can't be drained.
// Here no znode has more than a thousand children, however many items there are; it can be counted,
// looked at and drained in order; and the head costs no more than in a short queue.
func TestB57_TwoHundredThousandItems(t *testing.T) {
	t.Parallel()
	items := tier.Count(5_000, 200_000)
	bubble.Run(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		putTogether(t, q, items)
		for n := range 8 {
			_, err := q.PutAll(bubble.Minute(t), data(0, 250), queue.WithDelay(time.Hour+time.Duration(n)*time.Second))
			require.NoError(t, err)
		}
		require.Equal(t, items+2000, length(t, q))
		c := consumer(t, newQueue(t, t.Session()), queue.WithPrefetch(1200))
		for n := range 1200 {
			require.Equal(t, fmt.Sprint(n), string(bubble.Get(t, c.Items(), "an item").Data()))
		}
		largest := 0
		var walk func(p string)
		walk = func(p string) {
			names, err := t.Server.Children(p)
			require.NoError(t, err)
			largest = max(largest, len(names))
			for _, name := range names {
				walk(p + "/" + name)
			}
		}
		walk(path)
		require.LessOrEqual(t, largest, 1000, "names in a listing")
		require.Equal(t, "1200", string(mustPeek(t, q).Data))
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
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		const items = 1000
		m := metered(t)
		q := newQueue(t, t.Session())
		put(t, q, "first")
		settled()
		began, before := time.Now(), m.requests()
		put(t, q, "alone")
		require.Equal(t, trip, time.Since(began), "the time of one request")
		require.Equal(t, 1, m.requests()-before)
		spent := m.spent(func() {
			beside(t, items, func(n int) error {
				_, err := q.Put(bubble.Minute(t), fmt.Append(nil, n))
				return err
			})
		})
		require.LessOrEqual(t, spent, 20)
		require.Equal(t, items+2, length(t, q))
		c := consumer(t, q, queue.WithPrefetch(items))
		all := make([]*queue.Item, items)
		for n := range all {
			all[n] = bubble.Get(t, c.Items(), "an item")
		}
		spent = m.spent(func() {
			beside(t, items, func(n int) error {
				if n%4 == 3 {
					return all[n].Nack(bubble.Minute(t))
				}
				return all[n].Ack(bubble.Minute(t))
			})
			require.NoError(t, c.Close(bubble.Minute(t)))
		})
		require.LessOrEqual(t, spent, items/4)
		require.Equal(t, items/4+2, length(t, q))
	})
}

// beside does something n times at once.
func beside(t testing.TB, n int, do func(n int) error) {
	t.Helper()
	var group sync.WaitGroup
	for k := range n {
		group.Go(func() { // ends with its answer
			if err := do(k); err != nil {
				t.Errorf("%d: %v", k, err)
			}
		})
	}
	group.Wait()
}
