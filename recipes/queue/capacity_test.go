package queue_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
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

// Dead letters in a bounded queue: whether they count or not, when they are gone it takes exactly
// as many as its capacity says.
func TestCapacityOfDeadLetters(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		dead, err := queue.New(s, path+"/dead", queue.WithCapacity(2))
		require.NoError(t, err)
		require.Equal(t, 2, fills(t, dead, 5))
		takes(t, dead, 2)
		q := newQueue(t, s, queue.WithMaxAttempts(1))
		for range 10 {
			put(t, q, "poison")
			require.NoError(t, take(t, q).Nack(bubble.Minute(t)))
			for n := length(t, dead); n > 0; n-- {
				takes(t, dead, 1)
			}
		}
		require.Equal(t, 0, length(t, dead))
		require.Equal(t, 2, fills(t, dead, 20), "items in a queue of two")
	})
}

// The same for a queue whose own items become dead letters: each frees the place that it had.
func TestCapacityAfterBurials(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s, queue.WithCapacity(2), queue.WithMaxAttempts(1))
		dead, err := queue.New(s, path+"/dead")
		require.NoError(t, err)
		for range 10 {
			require.Equal(t, 2, fills(t, q, 5))
			for range 2 {
				require.NoError(t, take(t, q).Nack(bubble.Minute(t)))
			}
			takes(t, dead, 2)
		}
		require.Equal(t, 2, fills(t, q, 20), "items in a queue of two")
	})
}

// A producer that had looked at the queue before somebody set the capacity is bound all the same.
func TestCapacityBindsEarlierProducers(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		id := s.Status().SessionID
		var once sync.Once
		asked, proceed := make(chan struct{}), make(chan struct{})
		t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && r.Op == zktest.OpMulti { // it has looked, and puts now
				once.Do(func() {
					close(asked)
					<-proceed
				})
			}
			return zktest.Pass
		}))
		early := newQueue(t, s)
		first := make(chan error, 1)
		go func() { // ends with its items, or with the one that is refused
			var err error
			for n := 0; n < 50 && err == nil; n++ {
				_, err = early.Put(bubble.Minute(t), []byte("x"))
			}
			first <- err
		}()
		<-asked
		bind(t)
		close(proceed)
		err := bubble.Get(t, first, "the end of the puts")
		require.LessOrEqual(t, length(t, early), 2, "items in a queue of two")
		require.ErrorIs(t, err, queue.ErrFull)
	})
}

// bind sets the capacity to two, and leaves the queue empty.
func bind(t *bubble.World) {
	t.Helper()
	q := newQueue(t, t.Session(), queue.WithCapacity(2))
	require.Equal(t, 2, fills(t, q, 5))
	takes(t, q, 2)
}

// After an administrator has deleted the queue, whoever used it goes on, within the capacity.
func TestCapacityAfterTheQueueWasDeleted(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s, queue.WithCapacity(2))
		c := consumer(t, newQueue(t, t.Session()))
		for round := range 3 {
			require.Equal(t, 2, fills(t, q, 5), "round %d", round)
			for range 2 {
				receives(t, c, "x")
			}
			require.NoError(t, s.DeleteAll(bubble.Minute(t), path))
			time.Sleep(time.Second)
		}
		require.NoError(t, c.Err())
		require.NoError(t, c.Close(bubble.Minute(t)))
		require.Equal(t, 2, fills(t, q, 5))
		require.Equal(t, 2, length(t, q))
		other := newQueue(t, t.Session(), queue.WithCapacity(3))
		_, err := other.Put(bubble.Minute(t), nil)
		require.ErrorIs(t, err, queue.ErrCapacity, "the one that was set anew counts")
	})
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

// A capacity is set for an empty queue that has been used, and refused for one with items in it.
func TestCapacityOfAQueueInUse(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		plain := newQueue(t, t.Session())
		put(t, plain, "x")
		_, err := newQueue(t, t.Session(), queue.WithCapacity(2)).Put(bubble.Minute(t), nil)
		require.ErrorIs(t, err, queue.ErrCapacity)
		require.NotErrorIs(t, err, session.ErrClosed)
	})
}
