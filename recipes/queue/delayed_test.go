package queue_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/queue"
)

// An item is on time however long nothing delayed was due before it.
func TestDelayAfterIdleTime(t *testing.T) {
	t.Parallel()
	for _, idle := range []time.Duration{0, time.Minute, time.Hour, 24 * time.Hour} {
		t.Run(idle.String(), func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				q := newQueue(t, t.Session())
				c := consumer(t, newQueue(t, t.Session()))
				for range 3 {
					began := time.Now()
					put(t, q, "x", queue.WithDelay(time.Second))
					i := bubble.Within(t, 2*idle+time.Minute, c.Items(), "the item")
					require.Equal(t, time.Second, time.Since(began), "after %v in which nothing was due", idle)
					require.NoError(t, i.Ack(bubble.Minute(t)))
					time.Sleep(idle)
				}
			})
		})
	}
}

// It is on time, too, if whoever moved the last one is gone, and if all its consumers came later
// than it was due.
func TestDelayWhenConsumersChange(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		first, second := t.Host("first"), t.Host("second")
		one := consumer(t, newQueue(t, first.Session))
		put(t, q, "x", queue.WithDelay(time.Second))
		require.NoError(t, bubble.Get(t, one.Items(), "an item").Ack(bubble.Minute(t)))
		two := consumer(t, newQueue(t, second.Session))
		time.Sleep(time.Hour)
		began := time.Now()
		put(t, q, "y", queue.WithDelay(time.Minute))
		first.Die()
		i := bubble.Within(t, 3*time.Hour, two.Items(), "the item")
		require.Equal(t, "y", string(i.Data()))
		require.Equal(t, time.Minute, time.Since(began))
		require.NoError(t, i.Ack(bubble.Minute(t)))
		put(t, q, "z", queue.WithDelay(time.Minute))
		require.NoError(t, two.Close(bubble.Minute(t)))
		time.Sleep(time.Hour)
		began = time.Now()
		require.Equal(t, []string{"z"}, takes(t, q, 1))
		require.Less(t, time.Since(began), time.Second)
	})
}

// The longest delay there is: not delivered, and there.
func TestDelayForEver(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - time.Millisecond, 200 * 365 * 24 * time.Hour} {
			put(t, q, d.String(), queue.WithDelay(d))
		}
		put(t, q, "later", queue.WithDelay(time.Minute))
		c := consumer(t, q)
		i := bubble.Within(t, time.Hour, c.Items(), "an item")
		require.Equal(t, "later", string(i.Data()))
		require.NoError(t, i.Ack(bubble.Minute(t)))
		select {
		case i := <-c.Items():
			t.Fatalf("one that is due in %s was delivered", i.Data())
		case <-time.After(24 * time.Hour):
		}
		require.Equal(t, 3, length(t, q))
	})
}

// The longest time there is to settle an item: it is not lost meanwhile.
func TestExtendForEver(t *testing.T) {
	t.Parallel()
	meanwhile := time.Duration(tier.Count(1, 24)) * time.Hour // all of it is pings
	bubble.Run(t, func(t *bubble.World) {
		q := newQueue(t, t.Session(), queue.WithVisibility(time.Minute))
		for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - time.Millisecond, 200 * 365 * 24 * time.Hour} {
			put(t, q, "a")
			i := take(t, q)
			require.NoError(t, i.Extend(bubble.Minute(t), d))
			time.Sleep(meanwhile)
			require.NoError(t, i.Err(), d)
			require.NoError(t, i.Ack(bubble.Minute(t)))
			require.Equal(t, 0, length(t, q))
		}
		long := newQueue(t, t.Session(), queue.WithVisibility(math.MaxInt64))
		put(t, long, "b")
		i := take(t, long)
		time.Sleep(meanwhile)
		require.NoError(t, i.Ack(bubble.Minute(t)))
	})
}
