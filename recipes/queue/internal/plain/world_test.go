package plain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue/internal/plain"
	"github.com/troupe-go/troupe/session"
)

const path = "/queues/orders"

// new is a queue that is closed at the end of the test.
func newQueue(t testing.TB, s *session.Session, l plain.Layout) *plain.Queue {
	t.Helper()
	q := plain.New(s, path, l)
	t.Cleanup(func() { _ = q.Close(bubble.Minute(t)) })
	return q
}

func put(t testing.TB, q *plain.Queue, l plain.Layout, data ...string) []string {
	t.Helper()
	var all [][]byte
	for _, d := range data {
		all = append(all, []byte(d))
	}
	names, err := q.Put(bubble.Minute(t), all, l.UsualPriority(), 0)
	require.NoError(t, err)
	return names
}

func take(t testing.TB, q *plain.Queue) string {
	t.Helper()
	e, err := q.Take(bubble.Minute(t))
	require.NoError(t, err)
	return string(e.Data)
}

func claim(t testing.TB, q *plain.Queue) *plain.Claimed {
	t.Helper()
	c, err := q.Claim(bubble.Minute(t))
	require.NoError(t, err)
	return c
}

func length(t testing.TB, q *plain.Queue) int {
	t.Helper()
	n, err := q.Len(bubble.Minute(t))
	require.NoError(t, err)
	return n
}

// children are those of a znode; none if it does not exist.
func children(t testing.TB, s *session.Session, path string) []string {
	t.Helper()
	require.NoError(t, s.Sync(bubble.Minute(t), path))
	names, _, err := s.Children(bubble.Minute(t), path)
	if err != nil {
		require.ErrorIs(t, err, session.ErrNoNode)
	}
	return names
}
