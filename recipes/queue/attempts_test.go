package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// An attempt counts when the item was received: three rolling restarts, each in the middle of one
// item, use up the attempts of that one alone. The other nine, which nobody has seen, are as if
// they had never been claimed.
func TestAttemptsCountWhenReceived(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *bubble.World, h *bubble.Host, c *queue.Consumer){
		"closed": func(t *bubble.World, h *bubble.Host, c *queue.Consumer) {
			require.NoError(t, c.Close(bubble.Minute(t)))
			require.NoError(t, h.Close(bubble.Minute(t)))
		},
		"its session closed": func(t *bubble.World, h *bubble.Host, _ *queue.Consumer) {
			require.NoError(t, h.Close(bubble.Minute(t)))
		},
		"killed": func(_ *bubble.World, h *bubble.Host, _ *queue.Consumer) { h.Die() },
	} {
		for how, fill := range map[string]func(t testing.TB, q *queue.Queue, n int){"put alone": putAlone, "put together": putTogether} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				bubble.Run(t, func(t *bubble.World) {
					metered(t)
					s := t.Session()
					fill(t, newQueue(t, s), 10)
					for n := range 3 {
						h := t.Host(fmt.Sprint("worker ", n))
						c := consumer(t, newQueue(t, h.Session, queue.WithMaxAttempts(3)), queue.WithPrefetch(16))
						require.Equal(t, "0", string(bubble.Get(t, c.Items(), "an item").Data()))
						settled()
						end(t, h, c)
					}
					q := newQueue(t, s, queue.WithMaxAttempts(3))
					dead, err := queue.New(s, path+"/dead")
					require.NoError(t, err)
					for _, want := range numbered(1, 9) {
						i, err := q.Take(bubble.Minute(t))
						require.NoError(t, err, "%d of 10 items are dead letters", length(t, dead))
						require.Equal(t, want, string(i.Data()))
						require.Equal(t, 1, i.Attempt(), "the first who sees %s", want)
						require.NoError(t, i.Ack(bubble.Minute(t)))
					}
					require.Equal(t, 0, length(t, q))
					require.Equal(t, []string{"0"}, takes(t, dead, 1), "it was received three times")
					require.Equal(t, 0, length(t, dead))
				})
			})
		}
	}
}

// Items that a consumer withdraws, because its session cannot be trusted any more, and that nobody
// had received have not used up an attempt.
func TestAttemptsAreNotSpentByPartitions(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s, queue.WithMaxAttempts(2))
		putAlone(t, q, 4)
		h := t.Host("worker")
		c := consumer(t, newQueue(t, h.Session, queue.WithMaxAttempts(2)), queue.WithPrefetch(8))
		for range 3 {
			settled() // it has claimed all four
			heal := h.Machine.Partition()
			time.Sleep(20 * time.Second) // its session is over
			heal()
			await(t, func() bool { return h.Status().State == session.Connected })
		}
		settled()
		dead, err := queue.New(s, path+"/dead")
		require.NoError(t, err)
		require.Equal(t, 0, length(t, dead), "dead letters that nobody has received")
		for _, want := range numbered(0, 4) {
			i := bubble.Get(t, c.Items(), "an item")
			require.Equal(t, want, string(i.Data()))
			require.Equal(t, 1, i.Attempt())
			require.NoError(t, i.Ack(bubble.Minute(t)))
		}
	})
}
