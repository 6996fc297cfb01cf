package queue_test

import (
	"context"
	"errors"
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

// Close ends the handle, its waiting calls and its consumers; what they have is lost and can be had
// by others; the session and other handles go on.
func TestCloseOfAQueue(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q, other := newQueue(t, s), newQueue(t, s)
		putAlone(t, q, 3)
		taken := take(t, q)
		c, err := q.Consume(queue.WithPrefetch(2))
		require.NoError(t, err)
		received := bubble.Get(t, c.Items(), "an item")
		empty, err := queue.New(s, "/queues/empty")
		require.NoError(t, err)
		waiting := bubble.Begin(func() error {
			_, err := empty.Take(bubble.Minute(t))
			return err
		})
		synctest.Wait()
		require.NoError(t, empty.Close(bubble.Minute(t)))
		require.ErrorIs(t, bubble.Within(t, time.Minute, waiting, "a waiting call"), session.ErrClosed)
		synctest.Wait()
		require.NoError(t, q.Err())
		select {
		case <-q.Done():
			t.Fatal("it is done, and nobody has closed it")
		default:
		}

		answers := make(chan error, 8)
		for range 8 {
			go func() { answers <- q.Close(bubble.Minute(t)) }() // ends with its answer
		}
		for range 8 {
			require.NoError(t, bubble.Get(t, answers, "the answer to Close"))
		}
		bubble.Closed(t, q.Done(), "the handle")
		require.ErrorIs(t, q.Err(), session.ErrClosed)
		require.NoError(t, q.Close(bubble.Minute(t)))
		bubble.Closed(t, c.Done(), "its consumer")
		require.ErrorIs(t, c.Err(), session.ErrClosed)
		for _, i := range []*queue.Item{taken, received} {
			bubble.Closed(t, i.Done(), "an item")
			require.ErrorIs(t, i.Err(), session.ErrLost)
			require.ErrorIs(t, i.Err(), session.ErrClosed)
			require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrLost)
		}
		_, err = q.Put(bubble.Minute(t), nil)
		require.ErrorIs(t, err, session.ErrClosed)
		_, err = q.Take(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrClosed)
		_, err = q.Consume()
		require.ErrorIs(t, err, session.ErrClosed)
		_, err = q.Peek(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrClosed)
		require.NoError(t, s.Err())
		require.Equal(t, numbered(0, 3), takes(t, other, 3))
	})
}

// The end of the session is the end of its queues.
func TestQueueEndsWithItsSession(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		require.NoError(t, s.Close(bubble.Minute(t)))
		require.NotNil(t, q.Done())
		bubble.Closed(t, q.Done(), "the handle")
		require.ErrorIs(t, q.Err(), session.ErrClosed)
		require.NoError(t, q.Close(bubble.Minute(t)))
	})
}

// Close with puts on their way: each is answered, as done or as not done, and that is true.
func TestCloseMeetsPuts(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		metered(t)
		s := t.Session()
		watcher := newQueue(t, t.Session())
		for round := range 5 {
			q := newQueue(t, s)
			var mu sync.Mutex
			done, refused := 0, 0
			var all sync.WaitGroup
			for n := range 100 {
				all.Go(func() { // ends with its answer
					time.Sleep(time.Duration(n) * trip / 10)
					_, err := q.Put(bubble.Minute(t), []byte("x"))
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						done++
					} else if refused++; !requireClosed(t, err) {
						return
					}
				})
			}
			time.Sleep(time.Duration(3+round) * trip)
			err := q.Close(bubble.Minute(t))
			all.Wait()
			require.NoError(t, err)
			require.Equal(t, 100, done+refused)
			require.Equal(t, done, length(t, watcher))
			takes(t, watcher, done)
		}
	})
}

func requireClosed(t testing.TB, err error) bool {
	t.Helper()
	if !errors.Is(err, session.ErrClosed) {
		t.Errorf("put: %v", err)
		return false
	}
	return true
}

// The id of an ephemeral item is free when the item is gone with its producer.
func TestEphemeralItemFreesItsID(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *bubble.World, h *bubble.Host){
		"closed": func(t *bubble.World, h *bubble.Host) { require.NoError(t, h.Close(bubble.Minute(t))) },
		"dead": func(_ *bubble.World, h *bubble.Host) {
			h.Die()
			time.Sleep(time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				q, h := newQueue(t, t.Session()), t.Host("producer")
				put(t, newQueue(t, h.Session), "a", queue.WithEphemeral(), queue.WithID("red"))
				_, err := q.Put(bubble.Minute(t), []byte("b"), queue.WithID("red"))
				require.ErrorIs(t, err, queue.ErrDuplicate)
				end(t, h)
				require.Equal(t, 0, length(t, q))
				put(t, q, "c", queue.WithID("red"))
				require.Equal(t, []string{"c"}, takes(t, q, 1))
				put(t, q, "d", queue.WithEphemeral(), queue.WithID("red"))
				require.Equal(t, []string{"d"}, takes(t, q, 1))
				put(t, q, "e", queue.WithID("red"))
			})
		})
	}
}

// Remove finds an item that lives, whatever it is on its way to: into line, to a consumer, or back.
func TestRemoveOfAMovingItem(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *bubble.World, q *queue.Queue){
		"into line": func(t *bubble.World, q *queue.Queue) {
			put(t, q, "x", queue.WithID("red"), queue.WithDelay(time.Second))
		},
		"to a consumer": func(t *bubble.World, q *queue.Queue) {
			put(t, q, "x", queue.WithID("red"))
			other := newQueue(t, t.Session())
			time.AfterFunc(time.Second, func() { _, _ = other.Take(context.Background()) })
		},
		"back": func(t *bubble.World, q *queue.Queue) {
			put(t, q, "x", queue.WithID("red"))
			c, err := newQueue(t, t.Session()).Consume(queue.WithPrefetch(1))
			require.NoError(t, err)
			bubble.Get(t, c.Items(), "the item")
			time.AfterFunc(time.Second, func() { _ = c.Close(context.Background()) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range 40 {
				bubble.Run(t, func(t *bubble.World) { removesWhile(t, begin, time.Duration(3*n)*trip) })
			}
		})
	}
}

// removesWhile begins to remove an item so long before it moves, on a slow network.
func removesWhile(t *bubble.World, begin func(t *bubble.World, q *queue.Queue), before time.Duration) {
	t.Helper()
	q, s := newQueue(t, t.Session()), t.Session()
	remover, slow := newQueue(t, s), s.Status().SessionID
	t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID == slow && r.Op != zktest.OpPing {
			return zktest.Delay(20 * trip)
		}
		return zktest.Pass
	}))
	put(t, q, "y")
	put(t, q, "the head", queue.WithPriority(-9))
	c := consumer(t, newQueue(t, t.Session()), queue.WithPrefetch(2))
	head := bubble.Get(t, c.Items(), "the head") // it has what it may have, and moves what is due
	other := bubble.Get(t, c.Items(), "the other item")
	began := time.Now()
	begin(t, q)
	time.Sleep(time.Until(began.Add(time.Second - before)))
	require.NoError(t, remover.Remove(bubble.Minute(t), "red"), "it lives; begun %v before it moves", before)
	time.Sleep(time.Second)
	require.Equal(t, 2, length(t, q), "it is removed")
	require.ErrorIs(t, remover.Remove(bubble.Minute(t), "red"), session.ErrNoNode)
	require.NoError(t, head.Ack(bubble.Minute(t)))
	require.NoError(t, other.Ack(bubble.Minute(t)))
}
