package queue_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const path = "/queues/orders"

// bubble runs a test on an embedded server in virtual time.
func bubble(t *testing.T, f func(t *testing.T, z *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, zktest.Start(t, opts...)) })
}

// open makes a session that is closed at the end of the test.
func open(t *testing.T, z *zktest.Server, opts ...session.Option) *session.Session {
	t.Helper()
	s, err := session.Open(patience(t), z.Hosts(), append([]session.Option{session.WithDialer(z.Dialer())}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(patience(t)) }) // after a fault it may not be able to say goodbye
	return s
}

func newQueue(t *testing.T, s *session.Session, opts ...queue.Option) *queue.Queue {
	t.Helper()
	q, err := queue.New(s, path, opts...)
	require.NoError(t, err)
	return q
}

// patience is a context for what should take no time at all. It outlives the test, for cleaning up.
func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func put(t *testing.T, q *queue.Queue, data string, opts ...queue.PutOption) string {
	t.Helper()
	id, err := q.Put(patience(t), []byte(data), opts...)
	require.NoError(t, err)
	return id
}

func take(t *testing.T, q *queue.Queue) *queue.Item {
	t.Helper()
	i, err := q.Take(patience(t))
	require.NoError(t, err)
	return i
}

// takes takes and acknowledges items, and returns their data.
func takes(t *testing.T, q *queue.Queue, n int) []string {
	t.Helper()
	var all []string
	for range n {
		i := take(t, q)
		all = append(all, string(i.Data()))
		require.NoError(t, i.Ack(patience(t)))
	}
	return all
}

// consumer is one that is closed at the end of the test.
func consumer(t *testing.T, q *queue.Queue, opts ...queue.ConsumeOption) *queue.Consumer {
	t.Helper()
	c, err := q.Consume(opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(patience(t)) })
	return c
}

// get receives, within patience.
func get[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v, open := <-c:
		if !open {
			t.Fatalf("%s: the channel has closed", what)
		}
		return v
	case <-time.After(time.Minute):
		t.Fatalf("%s: nothing came", what)
	}
	return *new(T)
}

// nothing asserts that a channel has nothing to receive once all has come to rest. In a bubble
// only.
func nothing[T any](t *testing.T, c <-chan T, what string) {
	t.Helper()
	synctest.Wait()
	select {
	case v := <-c:
		t.Fatalf("%s: got %+v", what, v)
	default:
	}
}

func length(t *testing.T, q *queue.Queue) int {
	t.Helper()
	n, err := q.Len(patience(t))
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
