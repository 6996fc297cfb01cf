package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
)

// The receiver may change an item's data. What pauses, and a dead letter, is what was put.
func TestTheReceiverMayChangeTheData(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func(t *bubble.World, q *queue.Queue) *queue.Queue{
		"it pauses":     func(_ *bubble.World, q *queue.Queue) *queue.Queue { return q },
		"a dead letter": func(t *bubble.World, _ *queue.Queue) *queue.Queue { return deadLetters(t, t.Session()) },
	} {
		each(t, name, func(t *bubble.World) {
			s, opts := t.Session(), []queue.Option(nil)
			if name == "a dead letter" {
				opts = append(opts, queue.WithMaxAttempts(1))
			}
			q := newQueue(t, s, opts...)
			put(t, q, "secret")
			i := take(t, q)
			clear(i.Data())
			require.NoError(t, i.Nack(bubble.Minute(t), queue.After(time.Second)))
			require.Equal(t, []string{"secret"}, takes(t, from(t, q), 1))
		})
	}
}
