package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
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
		each(t, name, func(t *bubble.World) {
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
	}
}
