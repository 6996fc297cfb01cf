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
		"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "empty": "", "odd: key,\n": "a\x00b:,3:<&>", "long": strings.Repeat("x", 5000),
	}
	var with []queue.PutOption
	for k, v := range headers {
		with = append(with, queue.WithHeader(k, "overwritten"), queue.WithHeader(k, v))
	}
	for name, opts := range map[string][]queue.PutOption{
		"plain": nil, "with an id": {queue.WithID("red")}, "with a delay": {queue.WithDelay(time.Minute)},
		"with a priority": {queue.WithPriority(-7)}, "ephemeral": {queue.WithEphemeral()},
	} {
		each(t, name, func(t *bubble.World) {
			s := t.Session()
			q := newQueue(t, s, queue.WithMaxAttempts(2))
			put(t, q, "data", append(opts, with...)...)
			c := consumer(t, newQueue(t, t.Session(), queue.WithMaxAttempts(2)))
			dead := consumer(t, deadLetters(t, s))
			for _, from := range []*queue.Consumer{c, c, dead} {
				i := bubble.Within(t, time.Hour, from.Items(), "the item")
				require.Equal(t, "data", string(i.Data()))
				got := make(map[string]string)
				for k := range headers {
					got[k] = i.Header(k)
				}
				require.Equal(t, headers, got)
				require.Empty(t, i.Header("Empty")+i.Header("Long"), "keys are compared byte by byte")
				require.NoError(t, i.Nack(bubble.Minute(t)))
			}
		})
	}
	each(t, "too large", func(t *bubble.World) {
		q := newQueue(t, t.Session())
		_, err := q.Put(bubble.Minute(t), nil, queue.WithHeader("k", strings.Repeat("x", 2<<20)))
		require.ErrorIs(t, err, session.ErrTooLarge)
		require.Equal(t, 0, length(t, q))
	})
}
