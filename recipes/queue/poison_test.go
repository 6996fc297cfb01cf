package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
)

// The pause grows with the attempts, exponentially and up to a bound, and is drawn: two that failed
// together do not come back together. The item keeps its id and its priority, and its attempts are
// counted. After twenty-five it is a dead letter.
func TestDefaultBackoffAndAttempts(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		put(t, q, "a", queue.WithID("red"), queue.WithPriority(3))
		var pauses []time.Duration
		failed := time.Now()
		c := consumer(t, q)
		for attempt := 1; attempt <= 25; attempt++ {
			i := bubble.Within(t, 4*time.Hour, c.Items(), "the item again")
			if attempt > 1 {
				pauses = append(pauses, time.Since(failed))
			}
			require.Equal(t, "red", i.ID())
			require.Equal(t, 3, i.Priority())
			require.Equal(t, attempt, i.Attempt())
			require.NoError(t, i.Nack(bubble.Minute(t)))
			failed = time.Now()
		}
		t.Log(pauses)
		select {
		case i := <-c.Items():
			t.Fatalf("it was delivered for the %dth time", i.Attempt())
		case <-time.After(6 * time.Hour):
		}
		require.Less(t, pauses[0], 5*time.Second, "the first pause")
		for n, p := range pauses {
			require.GreaterOrEqual(t, p, 100*time.Millisecond, "pause %d", n)
			if n >= 2 && p < 10*time.Minute {
				require.Greater(t, p, pauses[n-2], "pause %d", n)
			}
		}
		require.Greater(t, pauses[9], 20*pauses[0], "the tenth pause")
		dead, err := queue.New(s, path+"/dead")
		require.NoError(t, err)
		i := take(t, dead)
		require.Equal(t, "a", string(i.Data()))
		require.Equal(t, "red", i.ID())
	})
}

// The pause is the application's to say: for the queue, and for one attempt.
func TestWithBackoff(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		var asked []int
		q := newQueue(t, t.Session(), queue.WithMaxAttempts(4), queue.WithBackoff(func(attempt int) time.Duration {
			asked = append(asked, attempt)
			return time.Duration(attempt) * time.Minute
		}))
		put(t, q, "a")
		c := consumer(t, q)
		for attempt := 1; attempt <= 4; attempt++ {
			began := time.Now()
			i := bubble.Within(t, time.Hour, c.Items(), "the item again")
			require.Equal(t, time.Duration(attempt-1)*time.Minute, time.Since(began).Round(time.Second))
			require.Equal(t, attempt, i.Attempt())
			require.NoError(t, i.Nack(bubble.Minute(t)))
		}
		require.Equal(t, []int{1, 2, 3}, asked, "after the fourth it is a dead letter")

		at := queue.Exponential(time.Second, time.Minute)
		for attempt, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 20: time.Minute, 1000: time.Minute} {
			for range 100 {
				require.InEpsilon(t, want, at(attempt), 0.26, "attempt %d", attempt)
			}
		}
	})
}

// Nack After a time: not before it, and then at once, with others in between; whoever had it may be
// gone by then.
func TestNackAfter(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		gone := t.Session()
		put(t, newQueue(t, gone), "a", queue.WithID("red"), queue.WithPriority(-4))
		i := take(t, newQueue(t, gone))
		require.NoError(t, i.Nack(bubble.Minute(t), queue.After(time.Hour)))
		began := time.Now()
		require.NoError(t, gone.Close(bubble.Minute(t)))

		q := newQueue(t, t.Session())
		_, err := q.Put(bubble.Minute(t), nil, queue.WithID("red"))
		require.ErrorIs(t, err, queue.ErrDuplicate, "it lives")
		require.Equal(t, 1, length(t, q))
		put(t, q, "b")
		c := consumer(t, q)
		i = bubble.Get(t, c.Items(), "the other item")
		require.Equal(t, "b", string(i.Data()))
		require.NoError(t, i.Ack(bubble.Minute(t)))
		i = bubble.Within(t, 2*time.Hour, c.Items(), "the item again")
		require.Equal(t, time.Hour, time.Since(began).Round(time.Second))
		require.GreaterOrEqual(t, time.Since(began), time.Hour)
		require.Equal(t, "red", i.ID())
		require.Equal(t, -4, i.Priority())
		require.Equal(t, 2, i.Attempt())

		began = time.Now()
		require.NoError(t, i.Nack(bubble.Minute(t), queue.After(0)))
		i = bubble.Get(t, c.Items(), "the item again")
		require.Less(t, time.Since(began), 100*time.Millisecond)
		require.Equal(t, 3, i.Attempt())
		require.ErrorContains(t, i.Nack(bubble.Minute(t), queue.After(-1)), "After")
		require.ErrorContains(t, i.Nack(bubble.Minute(t), nil), "opts[0]")
		require.NoError(t, i.Ack(bubble.Minute(t)))
	})
}
