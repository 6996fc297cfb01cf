package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Close returns when others can have what its consumer had, however long that takes: also what was
// received and not settled.
func TestCloseWaitsForWhatWasReceived(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		q, s := newQueue(t, open(t, z)), open(t, z)
		put(t, q, "a")
		c := consumer(t, newQueue(t, s))
		i := get(t, c.Items(), "an item")
		id := s.Status().SessionID
		t.Cleanup(z.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && r.Op != zktest.OpPing {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		}))
		require.NoError(t, c.Close(patience(t)))
		require.ErrorIs(t, i.Ack(patience(t)), session.ErrLost)
		require.Equal(t, "a", string(mustPeek(t, q).Data))
	})
}
