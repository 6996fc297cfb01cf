package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

func mustPeek(t testing.TB, q *queue.Queue) queue.Entry {
	t.Helper()
	e, err := q.Peek(bubble.Minute(t))
	require.NoError(t, err)
	return e
}

func looking(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	_, err := q.Peek(bubble.Minute(t))
	require.ErrorIs(t, err, queue.ErrEmpty)
	require.Equal(t, 0, length(t, q))
	id := put(t, q, "a", queue.WithPriority(2))
	_, err = q.PutAll(bubble.Minute(t), [][]byte{[]byte("b"), []byte("c")}, queue.WithPriority(1))
	require.NoError(t, err)
	require.Equal(t, "b", string(mustPeek(t, q).Data))
	i := take(t, q)
	require.Equal(t, "c", string(mustPeek(t, q).Data), "the first is claimed")
	require.Equal(t, []string{"c"}, takes(t, q, 1))
	require.Equal(t, queue.Entry{ID: id, Data: []byte("a"), Priority: 2}, mustPeek(t, q))
	require.NoError(t, i.Nack(bubble.Minute(t), queue.After(0)))
	require.Equal(t, 1, mustPeek(t, q).Attempts)
	require.Equal(t, []string{"b", "a"}, takes(t, q, 2))
	_, err = q.Peek(bubble.Minute(t))
	require.ErrorIs(t, err, queue.ErrEmpty)
}

func removing(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	require.ErrorIs(t, q.Remove(bubble.Minute(t), "red"), session.ErrNoNode)
	put(t, q, "a", queue.WithID("red"))
	id := put(t, q, "b")
	put(t, q, "c", queue.WithDelay(time.Hour), queue.WithID("blue"))
	require.NoError(t, q.Remove(bubble.Minute(t), "red"))
	require.NoError(t, q.Remove(bubble.Minute(t), "blue"))
	put(t, q, "d", queue.WithID("red"))
	i := take(t, q)
	require.Equal(t, id, i.ID())
	require.NoError(t, q.Remove(bubble.Minute(t), id))
	require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrLost, "it was removed under its consumer")
	require.Equal(t, []string{"d"}, takes(t, q, 1))
	require.Equal(t, 0, length(t, q))
}
