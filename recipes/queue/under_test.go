package queue_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// holding is a possession: an item of another queue. (Any other would do.)
func holding(t *bubble.World, s *session.Session) *queue.Item {
	t.Helper()
	jobs, err := queue.New(s, "/queues/jobs")
	require.NoError(t, err)
	put(t, jobs, "job")
	return take(t, jobs)
}

// A put under a hold is done while the hold stands, however it is put.
func TestPutUnderAHold(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		job := holding(t, s)
		q := newQueue(t, s)
		put(t, q, "a", queue.Under(job.Hold))
		_, err := q.PutAll(bubble.Minute(t), data(0, 3), queue.Under(job.Hold))
		require.NoError(t, err)
		put(t, q, "late", queue.Under(job.Hold), queue.WithDelay(time.Minute))
		put(t, q, "red", queue.Under(job.Hold), queue.WithID("red"))
		require.NoError(t, job.Ack(bubble.Minute(t)))
		require.Equal(t, []string{"a", "0", "1", "2", "red"}, takes(t, q, 5), "they stay when the hold has ended")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"late"}, takes(t, q, 1))
		_, err = q.Put(bubble.Minute(t), nil, queue.Under(nil))
		require.ErrorContains(t, err, "Under")
	})
}

// Under a hold that is lost nothing is put: whether this process knows of the loss, or only
// ZooKeeper does.
func TestPutUnderALostHold(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]queue.PutOption{"plain": nil, "with an id": {queue.WithID("red")}, "with a delay": {queue.WithDelay(time.Minute)}} {
		for _, known := range []bool{true, false} {
			each(t, fmt.Sprint(name, ", known: ", known), func(t *bubble.World) {
				s := t.Session()
				job := holding(t, s)
				q := newQueue(t, s)
				put(t, q, "before", queue.Under(job.Hold))
				if known {
					require.NoError(t, job.Ack(bubble.Minute(t)))
				} else {
					id, lose := s.Status().SessionID, sync.OnceFunc(func() { _ = t.Server.Delete(job.Path()) })
					t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
						if r.SessionID == id && r.Op == zktest.OpMulti { // the put is on its way
							lose()
						}
						return zktest.Pass
					}))
				}
				_, err := q.Put(bubble.Minute(t), []byte("x"), append(opts, queue.Under(job.Hold))...)
				require.ErrorIs(t, err, session.ErrLost)
				put(t, q, "after")
				require.Equal(t, 2, length(t, q))
				require.Equal(t, []string{"before", "after"}, takes(t, q, 2))
			})
		}
	}
}
