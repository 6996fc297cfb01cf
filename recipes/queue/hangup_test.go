package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// The servers take less than the session was told, and hang up. A Put that is too large for them
// ends with an error that says so, whatever its context; it is not sent again, and the queue goes
// on.
func TestAPutThatIsTooLargeForTheServersDoesNotWedgeTheQueue(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		handshakes := 0
		t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpConnect {
				handshakes++
			}
			return zktest.Pass
		})
		count := func() int {
			time.Sleep(time.Millisecond) // nothing is under way
			return handshakes
		}
		q := newQueue(t, t.Session())
		put(t, q, "before")
		begun := time.Now()
		_, err := q.Put(bubble.Minute(t), make([]byte, 30_000))
		require.ErrorIs(t, err, session.ErrTooLarge)
		require.Less(t, time.Since(begun), 10*time.Second)
		before := count()
		require.LessOrEqual(t, before, 6)
		put(t, q, "after")
		require.Equal(t, "before", string(take(t, q).Data()))
		time.Sleep(time.Hour)
		require.Equal(t, before, count(), "it is still sent")
	}, zktest.WithMaxPacket(10_000))
}
