package queue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// Headers travel with an item, however it was put, and wherever it goes.
func TestHeadersTravel(t *testing.T) {
	t.Parallel()
	headers := map[string]string{
		"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "content-type": "application/json",
		"empty": "", "odd: key,\n": "a\x00b:,3:", "long": strings.Repeat("x", 5000),
	}
	var with []queue.PutOption
	for k, v := range headers {
		with = append(with, queue.WithHeader(k, "overwritten"), queue.WithHeader(k, v))
	}
	check := func(t testing.TB, i *queue.Item) {
		t.Helper()
		for k, v := range headers {
			require.Equal(t, v, i.Header(k), k)
		}
		require.Empty(t, i.Header("Content-Type"), "keys are compared byte by byte")
		require.Empty(t, i.Header("another"))
	}
	for name, opts := range map[string][]queue.PutOption{
		"plain": nil, "with an id": {queue.WithID("red")}, "with a delay": {queue.WithDelay(time.Minute)},
		"with a priority": {queue.WithPriority(-7)}, "ephemeral": {queue.WithEphemeral()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				q := newQueue(t, s, queue.WithMaxAttempts(3))
				put(t, q, "data", append(opts, with...)...)
				c := consumer(t, newQueue(t, t.Session(), queue.WithMaxAttempts(3)))
				for range 3 {
					i := bubble.Within(t, time.Hour, c.Items(), "the item")
					check(t, i)
					require.Equal(t, "data", string(i.Data()))
					if name == "ephemeral" { // its producer's alone: it goes nowhere else
						require.NoError(t, i.Ack(bubble.Minute(t)))
						return
					}
					require.NoError(t, i.Nack(bubble.Minute(t)))
				}
				dead, err := queue.New(s, path+"/dead")
				require.NoError(t, err)
				i := take(t, dead)
				check(t, i)
				require.Equal(t, "data", string(i.Data()))
			})
		})
	}
	for name, opts := range map[string][]queue.ConsumeOption{"claimed": nil, "at most once": {queue.WithAutoAck()}} {
		t.Run("together, "+name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				q := newQueue(t, t.Session())
				_, err := q.PutAll(bubble.Minute(t), data(0, 100), with...)
				require.NoError(t, err)
				put(t, q, "none")
				c := consumer(t, q, opts...)
				for _, want := range numbered(0, 100) {
					i := bubble.Get(t, c.Items(), "an item")
					require.Equal(t, want, string(i.Data()))
					check(t, i)
					require.NoError(t, i.Ack(bubble.Minute(t)))
				}
				i := bubble.Get(t, c.Items(), "an item")
				require.Equal(t, "none", string(i.Data()))
				for k := range headers {
					require.Empty(t, i.Header(k))
				}
			})
		})
	}
}

// What cannot be a header is refused, and nothing is put.
func TestBadHeaders(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		_, err := q.Put(bubble.Minute(t), nil, queue.WithHeader("", "x"))
		require.ErrorContains(t, err, "WithHeader")
		_, err = q.Put(bubble.Minute(t), nil, queue.WithHeader("k", strings.Repeat("x", 2<<20)))
		require.ErrorIs(t, err, session.ErrTooLarge)
		require.Equal(t, 0, length(t, q))
	})
}
