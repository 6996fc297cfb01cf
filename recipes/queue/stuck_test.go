package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
)

// A dead letter that cannot be written, since a stranger has made a znode below the item, does not
// keep what is due from being moved.
func TestWhatCannotBeBuriedHoldsUpNothingThatIsDue(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s, x := t.Session(), t.Session()
		q := newQueue(t, s)
		put(t, q, "tried")
		child(t, s, head, "tried")
		take(t, newQueue(t, x))
		require.NoError(t, x.Close(bubble.Minute(t)))
		put(t, q, "due", queue.WithDelay(10*time.Second))
		c := consumer(t, newQueue(t, t.Session(), queue.WithMaxAttempts(1)))
		i := bubble.Within(t, time.Hour, c.Items(), "what is due")
		require.Equal(t, "due", string(i.Data()))
	})
}
