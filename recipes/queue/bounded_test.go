package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func bounded(t *bubble.Cluster) {
	s := t.Session()
	q := newQueue(t, s, queue.WithCapacity(3))
	for n := range 3 {
		put(t, q, fmt.Sprint(n))
	}
	_, err := q.Put(bubble.Minute(t), []byte("x"))
	require.ErrorIs(t, err, queue.ErrFull)
	_, err = newQueue(t, t.Session()).Put(bubble.Minute(t), []byte("x"))
	require.ErrorIs(t, err, queue.ErrFull, "who names no capacity is bound all the same")
	_, err = newQueue(t, t.Session()).Put(bubble.Minute(t), []byte("x"), queue.WithEphemeral())
	require.ErrorIs(t, err, session.ErrUnsupported, "nobody would give back its room")
	_, err = newQueue(t, s, queue.WithCapacity(4)).Put(bubble.Minute(t), []byte("x"))
	require.ErrorIs(t, err, queue.ErrCapacity)
	i := take(t, q)
	_, err = q.Put(bubble.Minute(t), []byte("x"))
	require.ErrorIs(t, err, queue.ErrFull, "one that is being processed counts")
	require.NoError(t, i.Ack(bubble.Minute(t)))
	put(t, q, "3")
	_, err = q.PutAll(bubble.Minute(t), [][]byte{[]byte("x"), []byte("y")})
	require.ErrorIs(t, err, queue.ErrFull)
	require.NoError(t, q.Remove(bubble.Minute(t), mustPeek(t, q).ID))
	put(t, q, "4")
	require.Equal(t, []string{"2", "3", "4"}, takes(t, newQueue(t, t.Session()), 3))
	_, err = q.PutAll(bubble.Minute(t), [][]byte{{1}, {2}, {3}})
	require.NoError(t, err)
	auto := consumer(t, q, queue.WithAutoAck(), queue.WithPrefetch(1))
	for range 3 {
		bubble.Get(t, auto.Items(), "an item")
	}
	_, err = q.PutAll(bubble.Minute(t), [][]byte{{1}, {2}, {3}})
	require.NoError(t, err)
}

// However many producers and consumers there are, there are never more items than the capacity, and
// all of it can be used.
func boundedRace(t *bubble.Cluster) {
	const capacity, producers, each = 5, 4, 15
	watcher := newQueue(t, t.Session(), queue.WithCapacity(capacity))
	put(t, watcher, "first")
	require.Equal(t, []string{"first"}, takes(t, watcher, 1))
	ctx, cancel := context.WithCancel(bubble.Minute(t))
	var group, rest sync.WaitGroup
	for range producers {
		q := newQueue(t, t.Session(), queue.WithCapacity(capacity))
		group.Go(func() {
			for n := 0; n < each; {
				switch _, err := q.Put(ctx, []byte("x")); {
				case err == nil:
					n++
				case errors.Is(err, queue.ErrFull):
					<-time.After(time.Millisecond)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2 {
		q := newQueue(t, t.Session())
		rest.Go(func() {
			for {
				i, err := q.Take(ctx)
				if err != nil {
					return
				}
				if err := i.Ack(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { // ends with the producers
		group.Wait()
		close(done)
	}()
	for over := false; !over; {
		require.LessOrEqual(t, length(t, watcher), capacity)
		select {
		case <-done:
			over = true
		case <-time.After(3 * time.Millisecond):
		}
	}
	for length(t, watcher) > 0 {
		<-time.After(3 * time.Millisecond)
	}
	cancel()
	rest.Wait()
	for range capacity {
		put(t, watcher, "x")
	}
	_, err := watcher.Put(bubble.Minute(t), []byte("x"))
	require.ErrorIs(t, err, queue.ErrFull)
}

// Others use the room while an item goes to the dead letters: it gets there, and its id is free.
func TestBurialInContendedRoom(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s, others := t.Session(), t.Session()
		q := newQueue(t, s, queue.WithCapacity(20), queue.WithMaxAttempts(1))
		put(t, q, "a", queue.WithID("red"))
		i := take(t, q)
		slow := t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == s.Status().SessionID && r.Op == zktest.OpMulti {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		answer := make(chan error, 1)
		go func() { answer <- i.Nack(bubble.Minute(t)) }() // ends with the answer
		for range 8 {
			time.Sleep(500 * time.Millisecond)
			for part := range 16 {
				p := fmt.Sprintf("%s/room/%02d", path, part)
				left, _, err := others.Get(bubble.Minute(t), p)
				require.NoError(t, err)
				_, err = others.Set(bubble.Minute(t), p, left, -1)
				require.NoError(t, err)
			}
		}
		require.NoError(t, bubble.Get(t, answer, "the answer"))
		slow()
		put(t, q, "b", queue.WithID("red"))
		require.Equal(t, []string{"b"}, takes(t, q, 1))
	})
}
