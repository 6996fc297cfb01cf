package queue_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/zktest"
)

// fills puts items until the queue is full, and tells how many went in, at most n.
func fills(t testing.TB, q *queue.Queue, n int) int {
	t.Helper()
	for k := range n {
		if _, err := q.Put(bubble.Minute(t), []byte("x")); err != nil {
			require.ErrorIs(t, err, queue.ErrFull)
			return k
		}
	}
	return n
}

// In a race of everything that takes a place or gives one back, there are never more items than the
// capacity, and at the end exactly that many places.
func TestCapacityWithEverything(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		const capacity = 8
		metered(t)
		watcher := newQueue(t, t.Session(), queue.WithCapacity(capacity), queue.WithMaxAttempts(2))
		require.Equal(t, 1, fills(t, watcher, 1))
		takes(t, watcher, 1)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		var in, out atomic.Int64 // put for certain; on their way out at the most
		all := workers(t)
		for n := range 3 {
			q := newQueue(t, t.Session())
			all.Go(func() { // ends with ctx
				opts := [][]queue.PutOption{nil, {queue.WithDelay(50 * trip)}, {queue.WithPriority(n)}}[n]
				for ctx.Err() == nil {
					if _, err := q.PutAll(ctx, data(0, 1+n), opts...); err != nil && !errors.Is(err, queue.ErrFull) && ctx.Err() == nil {
						t.Errorf("put: %v", err)
						return
					} else if err == nil && in.Add(int64(1+n))-out.Load() > capacity {
						t.Error("there are more items than the capacity")
						return
					}
					time.Sleep(3 * trip)
				}
			})
		}
		for range 3 {
			q := newQueue(t, t.Session(), queue.WithMaxAttempts(2))
			all.Go(func() { // ends with ctx
				for k := 0; ctx.Err() == nil; k++ {
					i, err := q.Take(ctx)
					if err != nil {
						return
					}
					if k%3 != 0 || i.Attempt() == 2 {
						out.Add(1)
					}
					switch {
					case k%3 == 0:
						_ = i.Nack(bubble.Minute(t))
					case k%7 == 0:
						_ = q.Remove(bubble.Minute(t), i.ID())
					default:
						_ = i.Ack(bubble.Minute(t))
					}
				}
			})
		}
		all.Wait()
		settled()
		time.Sleep(time.Minute)
		for n := length(t, watcher); n > 0; n = length(t, watcher) {
			i, err := watcher.Take(bubble.Minute(t))
			require.NoError(t, err)
			require.NoError(t, i.Ack(bubble.Minute(t)))
		}
		require.Equal(t, capacity, fills(t, watcher, 2*capacity))
	})
}

// What is put back was in the queue before: a queue that has been filled meanwhile has more than
// its capacity until as many are taken.
func TestPutBackIntoFullQueue(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q := newQueue(t, t.Session(), queue.WithCapacity(2))
		full := func() {
			_, err := q.Put(bubble.Minute(t), nil)
			require.ErrorIs(t, err, queue.ErrFull)
		}
		put(t, q, "a")
		put(t, q, "b")
		c := consumer(t, q, queue.WithAutoAck(), queue.WithPrefetch(2))
		synctest.Wait()
		put(t, q, "c")
		put(t, q, "d")
		require.NoError(t, c.Close(bubble.Minute(t)))
		require.Equal(t, 4, length(t, q))
		full()
		require.Equal(t, []string{"c"}, takes(t, q, 1), "what is put back comes behind the others")
		full()
		require.Equal(t, []string{"d", "a"}, takes(t, q, 2))
		put(t, q, "in the place of a")
		full()
		require.Equal(t, []string{"b", "in the place of a"}, takes(t, q, 2))
		put(t, q, "e")
		put(t, q, "f")
		full()
	})
}

// Two producers give a queue its capacity: at any request of the one the other has just given it,
// and put an item.
func TestTwoGiveTheCapacity(t *testing.T) {
	t.Parallel()
	for k, more := 1, true; more; k++ {
		bubble.Run(t, func(t *bubble.World) {
			s := t.Session()
			q, rival := newQueue(t, s, queue.WithCapacity(5)), newQueue(t, t.Session(), queue.WithCapacity(5))
			met := t.AtKth(s, k, func(*zktest.Request) zktest.Verdict {
				put(t, rival, "b")
				return zktest.Pass
			}, zktest.OpSync)
			_, err := q.Put(bubble.Minute(t), []byte("a"))
			require.NoError(t, err, "request %d", k)
			more = met()
		})
		require.Less(t, k, 100)
	}
}
