package queue_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

const path = "/queues/orders"

func newQueue(t testing.TB, s *session.Session, opts ...queue.Option) *queue.Queue {
	t.Helper()
	q, err := queue.New(s, path, opts...)
	require.NoError(t, err)
	return q
}

func put(t testing.TB, q *queue.Queue, data string, opts ...queue.PutOption) string {
	t.Helper()
	id, err := q.Put(bubble.Minute(t), []byte(data), opts...)
	require.NoError(t, err)
	return id
}

func take(t testing.TB, q *queue.Queue) *queue.Item {
	t.Helper()
	i, err := q.Take(bubble.Minute(t))
	require.NoError(t, err)
	return i
}

// takes takes and acknowledges items, and returns their data.
func takes(t testing.TB, q *queue.Queue, n int) []string {
	t.Helper()
	var all []string
	for range n {
		i := take(t, q)
		all = append(all, string(i.Data()))
		require.NoError(t, i.Ack(bubble.Minute(t)))
	}
	return all
}

// consumer is one that is closed at the end of the test.
func consumer(t testing.TB, q *queue.Queue, opts ...queue.ConsumeOption) *queue.Consumer {
	t.Helper()
	c, err := q.Consume(opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(bubble.Minute(t)) })
	return c
}

func length(t testing.TB, q *queue.Queue) int {
	t.Helper()
	n, err := q.Len(bubble.Minute(t))
	require.NoError(t, err)
	return n
}

// numbered are n data, "0", "1" and so on.
func numbered(from, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(from + i)
	}
	return all
}
