// What List shows and Purge deletes, whatever an item's state, and what is put in their way.

package queue_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// filled is a queue with an item in each state: claimed, waiting, not a queue's, delayed.
func filled(t *bubble.World) (*queue.Queue, *queue.Item) {
	t.Helper()
	q := newQueue(t, t.Session())
	put(t, q, "a", queue.WithID("a"))
	put(t, q, "b", queue.WithID("b"), queue.WithPriority(3))
	put(t, q, "c", queue.WithID("c"), queue.WithDelay(time.Hour))
	i := take(t, q)
	require.NoError(t, t.Server.Create(path+"/items/3-0000000000/g-queue-0000000009", []byte("foreign")))
	require.NoError(t, t.Server.Create(path+"/items/3-0000000000/foreign", nil))
	return q, i
}

func TestListShowsEveryItemWithItsState(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q, i := filled(t)
		due := time.Now().Add(time.Hour)
		all, err := q.List(bubble.Minute(t), 100)
		require.NoError(t, err)
		require.Len(t, all, 4)
		first, err := q.List(bubble.Minute(t), 2)
		require.NoError(t, err)
		require.Equal(t, all[:2], first)
		require.WithinDuration(t, due, all[3].Due, time.Second)
		all[3].Due = time.Time{}
		for n := range all {
			require.WithinDuration(t, time.Now(), all[n].Since, time.Second)
			all[n].Since = time.Time{}
		}
		owner := all[0].Owner
		require.Equal(t, os.Getpid(), owner.PID)
		require.Equal(t, []queue.Entry{
			{ID: "a", Data: []byte("a"), Attempts: 1, Claimed: true, Owner: owner, Session: i.Session().Status().SessionID},
			{ID: "b", Data: []byte("b"), Priority: 3},
			{ID: "g", Unread: true},
			{ID: "c", Data: []byte("c")},
		}, all)
		_, err = q.List(bubble.Minute(t), 0)
		require.ErrorContains(t, err, "n: 0 is less than 1")
	})
}

func TestListShowsWhatItMayNotRead(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q, _ := filled(t)
		t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpGetData {
				return zktest.Fail(zktest.ErrNoAuth)
			}
			return zktest.Pass
		}))
		all, err := q.List(bubble.Minute(t), 100)
		require.NoError(t, err)
		require.Len(t, all, 4)
		require.True(t, all[0].Unread && all[0].Claimed && all[3].Unread)
		_, err = q.Peek(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrNoAuth)
	})
}

// Purge deletes the first ones, with their claims and ids, whatever happens at a request of it.
func TestPurgeDeletesWhatever(t *testing.T) {
	t.Parallel()
	bubble.EachFate(t, func(t *bubble.World, _ int, strike func(s *session.Session)) {
		q, i := filled(t)
		s := t.Session()
		strike(s)
		for left := 4; left > 0; left = length(t, q) {
			n, err := newQueue(t, s).Purge(bubble.Minute(t), 3)
			require.NoError(t, err)
			require.LessOrEqual(t, n, 3)
		}
		require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrLost)
		for _, id := range []string{"a", "b", "c"} {
			put(t, q, "again", queue.WithID(id))
		}
	}, bubble.Brisk()...)
}
