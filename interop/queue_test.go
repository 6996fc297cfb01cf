package interop_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/queue"
)

// bank is a queue as one side uses it.
type bank interface {
	put(data string) error
	// take waits for about d. The item is the taker's until done is called; "" if there was none.
	take(d time.Duration) (data string, done func() error, err error)
	end() error
}

// theirQueue is a queue of theirs. Its requests stand in one line, so that whoever takes must not
// be waited for by whoever puts.
type theirQueue struct {
	*foreign
	claims bool
}

func (q theirQueue) put(data string) error { return q.ask(q.rec, "put", data) }

func (q theirQueue) take(d time.Duration) (string, func() error, error) {
	verb, args := "poll", []string(nil)
	if q.claims {
		verb, args = "take", []string{fmt.Sprint(d.Milliseconds())}
	}
	r := q.d.call(q.rec, verb, args...)
	if r.err != "" || len(r.values) == 0 {
		return "", nil, q.failed(r)
	}
	return r.values[0], func() error {
		if !q.claims {
			return nil
		}
		r := q.d.call(q.rec, "consume")
		if r.err == "" && r.values[0] != "yes" {
			return errors.New("not consumed")
		}
		return q.failed(r)
	}, nil
}

func (q theirQueue) failed(r reply) error {
	if r.err != "" {
		return errors.New(q.label + ": " + r.err)
	}
	return nil
}

// ourQueue is Troupe's, in their layout.
type ourQueue struct {
	own
	queue *queue.Queue
}

func (q *ourQueue) put(data string) error {
	ctx, cancel := patiently()
	defer cancel()
	_, err := q.queue.Put(ctx, []byte(data))
	return err
}

func (q *ourQueue) take(d time.Duration) (string, func() error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	item, err := q.queue.Take(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	return string(item.Data()), func() error {
		ctx, cancel := patiently()
		defer cancel()
		return item.Ack(ctx)
	}, nil
}

// ourStream is the same with a consumer that takes items in advance.
type ourStream struct {
	*ourQueue
	consumer *queue.Consumer
	claims   bool
}

func (q ourStream) take(d time.Duration) (string, func() error, error) {
	select {
	case item, ok := <-q.consumer.Items():
		if !ok {
			return "", nil, fmt.Errorf("the consumer has ended: %w", q.consumer.Err())
		}
		if q.claims {
			return string(item.Data()), func() error {
				ctx, cancel := patiently()
				defer cancel()
				return item.Ack(ctx)
			}, nil
		}
		return string(item.Data()), func() error { return nil }, nil
	case <-time.After(d):
		return "", nil, q.consumer.Err()
	}
}

// bridge is a queue of theirs, and the layout that ours must have beside it.
type bridge struct {
	theirs maker
	layout queue.Layout
	claims bool
}

var bridges = map[string]bridge{
	"java":    {maker{driver: javaDriver, client: "zookeeper", recipe: "queue"}, queue.Java, false},
	"curator": {maker{driver: javaDriver, client: "curator", recipe: "simple-queue"}, queue.Java, false},
	"kazoo":   {maker{driver: kazooDriver, client: "kazoo", recipe: "queue"}, queue.Kazoo, false},
	"locking": {maker{driver: kazooDriver, client: "kazoo", recipe: "locking-queue"}, queue.KazooLocking, true},
}

// eager are queues of theirs that take whatever there is before anybody asks: Curator hands it to
// a consumer.
var eager = map[string]bridge{
	"curator's queue":          {maker{driver: javaDriver, client: "curator", recipe: "distributed-queue"}, queue.Curator, false},
	"curator's priority queue": {maker{driver: javaDriver, client: "curator", recipe: "priority-queue"}, queue.CuratorPriority, false},
	"curator's delay queue":    {maker{driver: javaDriver, client: "curator", recipe: "delay-queue"}, queue.CuratorDelay, false},
}

func (b bridge) us(t *testing.T, address, path string) *ourQueue {
	t.Helper()
	q := &ourQueue{own: newOwn(t, "queue", alone, address)}
	var err error
	q.queue, err = queue.New(q.session, path, queue.WithLayout(b.layout))
	require.NoError(t, err)
	return q
}

func (b bridge) stream(t *testing.T, address, path string) bank {
	t.Helper()
	q := b.us(t, address, path)
	var opts []queue.ConsumeOption
	if !b.claims {
		opts = append(opts, queue.WithAutoAck())
	}
	c, err := q.queue.Consume(opts...)
	require.NoError(t, err)
	return ourStream{q, c, b.claims}
}

func (b bridge) them(t *testing.T, address, path string) theirQueue {
	t.Helper()
	return theirQueue{b.theirs.make(t, address, path), b.claims}
}

// What one side puts the other takes, in order.
func TestQueuesKeepTheirOrder(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		each(t, bridges, func(t *testing.T, b bridge) {
			path := pathFor(t)
			us, them := bank(b.us(t, address, path)), bank(b.them(t, address, path))
			for _, way := range [][2]bank{{us, them}, {them, us}} {
				var want, got []string
				for i := range 12 {
					want = append(want, fmt.Sprint(i))
					require.NoError(t, way[i/6].put(want[i]), "the first half by one side, the second by the other")
				}
				for i := range want {
					data, done, err := way[1-i%2].take(patience)
					require.NoError(t, err)
					require.NoError(t, done())
					got = append(got, data)
				}
				require.Equal(t, want, got)
			}
		})
	})
}

// Two of ours and two of theirs put, and as many take, one of ours in advance: every item arrives
// once.
func TestQueuesTogether(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		all := maps.Clone(bridges)
		maps.Copy(all, eager)
		each(t, all, func(t *testing.T, b bridge) {
			path := pathFor(t)
			us, them := func() bank { return b.us(t, address, path) }, func() bank { return b.them(t, address, path) }
			got := ferry(t, []bank{us(), them(), us(), them()}, []bank{us(), them(), b.stream(t, address, path), them()}, 40)
			slices.Sort(got)
			require.Len(t, slices.Compact(slices.Clone(got)), 160, "none is lost")
			require.Len(t, got, 160, "none comes twice")
			if b.claims {
				empty(t, s, path+"/entries")
				empty(t, s, path+"/taken")
			} else {
				empty(t, s, path)
			}
		})
	})
}

// ferry has each producer put n items, and the consumers take what there is.
func ferry(t *testing.T, producers, consumers []bank, n int) []string {
	t.Helper()
	var mu sync.Mutex
	var got []string
	total := n * len(producers)
	all := make(chan struct{})
	failures := make(chan error, len(producers)+len(consumers))
	for i, p := range producers {
		go func() { failures <- feed(p, i, n) }() // ends with its items
	}
	for _, c := range consumers {
		go func() { // ends when all is taken, or with its patience
			failures <- drain(c, all, func(data string) {
				mu.Lock()
				defer mu.Unlock()
				if got = append(got, data); len(got) == total {
					close(all)
				}
			})
		}()
	}
	for range cap(failures) {
		require.NoError(t, <-failures)
	}
	mu.Lock()
	defer mu.Unlock()
	return got
}

func feed(p bank, no, n int) error {
	for j := range n {
		if err := p.put(fmt.Sprintf("%d-%d", no, j)); err != nil {
			return err
		}
	}
	return nil
}

func drain(c bank, all <-chan struct{}, took func(data string)) error {
	end := time.Now().Add(patience)
	for {
		select {
		case <-all:
			return nil
		default:
		}
		if time.Now().After(end) {
			return errors.New("not all has arrived")
		}
		data, done, err := c.take(50 * time.Millisecond)
		switch {
		case err != nil:
			return err
		case done == nil:
			continue
		}
		took(data)
		if err := done(); err != nil {
			return err
		}
	}
}

// A claim of one side is respected by the other, and what a consumer that died had claimed goes to
// the other.
func TestClaimsAreRespected(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s, path, b := open(t, address), pathFor(t), bridges["locking"]
		us, them := b.us(t, address, path), b.them(t, address, path)
		for _, taker := range []func() bank{func() bank { return b.us(t, address, path) }, func() bank { return b.them(t, address, path) }} {
			for _, other := range []bank{us, them} {
				first := taker()
				require.NoError(t, us.put("one"))
				require.NoError(t, us.put("two"))
				one, _, err := first.take(patience)
				require.NoError(t, err)
				two, done, err := other.take(patience)
				require.NoError(t, err)
				require.Equal(t, []string{"one", "two"}, []string{one, two})
				require.NoError(t, done())
				data, _, err := other.take(200 * time.Millisecond)
				require.NoError(t, err)
				require.Empty(t, data, "it is claimed")
				require.NoError(t, first.end()) // as the end of its process
				data, done, err = other.take(patience)
				require.NoError(t, err)
				require.Equal(t, "one", data)
				require.NoError(t, done())
			}
		}
		empty(t, s, path+"/entries")
		empty(t, s, path+"/taken")
	})
}

// What one side gives back the other can have.
func TestWhatIsGivenBack(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		path, b := pathFor(t), bridges["locking"]
		us, them := b.us(t, address, path), b.them(t, address, path)
		require.NoError(t, them.put("one"))
		item, err := us.queue.Take(t.Context())
		require.NoError(t, err)
		require.NoError(t, item.Nack(t.Context()))
		data, _, err := them.take(patience)
		require.NoError(t, err)
		require.Equal(t, "one", data)
		require.NoError(t, them.release())
		data, done, err := us.take(patience)
		require.NoError(t, err)
		require.Equal(t, "one", data)
		require.NoError(t, done())
	})
}

// Priorities of kazoo's queues: lower numbers first, whoever put them.
func TestQueuesAgreeOnPriorities(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		for _, name := range []string{"kazoo", "locking"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				path, b := pathFor(t), bridges[name]
				us, them := b.us(t, address, path), b.them(t, address, path)
				put := func(data string, priority int) {
					_, err := us.queue.Put(t.Context(), []byte(data), queue.WithPriority(priority))
					require.NoError(t, err)
				}
				for range 2 {
					require.NoError(t, them.ask(them.rec, "put", "d", "100"))
					put("b", 50)
					require.NoError(t, them.ask(them.rec, "put", "a", "7"))
					put("c", 99)
					require.NoError(t, us.put("e"), "100 if none is named")
				}
				var got []string
				for i := range 10 {
					taker := []bank{us, them}[i%2]
					data, done, err := taker.take(patience)
					require.NoError(t, err)
					require.NoError(t, done())
					got = append(got, data)
				}
				require.Equal(t, []string{"a", "a", "b", "b", "c", "c", "d", "e", "d", "e"}, got)
			})
		}
	})
}
