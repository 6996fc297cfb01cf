package queue_test

import (
	"errors"
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
	opts := map[string][]queue.PutOption{"plain": nil, "with an id": {queue.WithID("red")}, "with a delay": {queue.WithDelay(time.Minute)}}
	for name, opts := range opts {
		t.Run(name+", known", func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				job := holding(t, s)
				q := newQueue(t, s)
				put(t, q, "before", queue.Under(job.Hold))
				require.NoError(t, job.Ack(bubble.Minute(t)))
				_, err := q.Put(bubble.Minute(t), []byte("x"), append(opts, queue.Under(job.Hold))...)
				require.ErrorIs(t, err, session.ErrLost)
				require.Equal(t, 1, length(t, q))
			})
		})
		t.Run(name+", unknown", func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				job := holding(t, s)
				q, admin := newQueue(t, s), t.Session()
				put(t, q, "before", queue.Under(job.Hold))
				id, struck := s.Status().SessionID, false
				var mu sync.Mutex
				t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
					mu.Lock()
					defer mu.Unlock()
					if r.SessionID == id && r.Op == zktest.OpMulti && !struck { // the put is on its way
						struck = true
						if err := t.Server.Delete(job.Path()); err != nil {
							t.Error(err)
						}
					}
					return zktest.Pass
				}))
				_, err := q.Put(bubble.Minute(t), []byte("x"), append(opts, queue.Under(job.Hold))...)
				require.ErrorIs(t, err, session.ErrLost)
				require.Equal(t, 1, length(t, newQueue(t, admin)))
				put(t, q, "after")
				require.Equal(t, []string{"before", "after"}, takes(t, q, 2))
			})
		})
	}
}

// Puts that share a moment with one under a lost hold are done: each falls back alone.
func TestPutsBesideALostHold(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		metered(t)
		s := t.Session()
		job := holding(t, s)
		q := newQueue(t, s)
		put(t, q, "before")
		require.NoError(t, s.Delete(bubble.Minute(t), job.Path(), -1))
		answers := make(chan error, 100)
		for n := range 100 {
			var opts []queue.PutOption
			if n%10 == 0 {
				opts = append(opts, queue.Under(job.Hold))
			}
			go func() { // ends with the answer
				_, err := q.Put(bubble.Minute(t), []byte("x"), opts...)
				answers <- err
			}()
		}
		lost := 0
		for range 100 {
			err := bubble.Get(t, answers, "an answer")
			if errors.Is(err, session.ErrLost) {
				lost++
				continue
			}
			require.NoError(t, err)
		}
		require.Equal(t, 10, lost)
		require.Equal(t, 91, length(t, q))
	})
}
