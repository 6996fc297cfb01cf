package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Close returns when others can have what its consumer had, however long that takes: also what was
// received and not settled.
func TestCloseWaitsForWhatWasReceived(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q, s := newQueue(t, t.Session()), t.Session()
		put(t, q, "a")
		c := consumer(t, newQueue(t, s))
		i := bubble.Get(t, c.Items(), "an item")
		id := s.Status().SessionID
		t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && r.Op != zktest.OpPing {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		}))
		require.NoError(t, c.Close(bubble.Minute(t)))
		require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrLost)
		require.Equal(t, "a", string(mustPeek(t, q).Data))
	})
}
