package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// cutsFirstMulti has a session's next transaction cut off, before or after it is carried out, and
// its way back take a second.
func cutsFirstMulti(z *zktest.Server, s *session.Session, verdict zktest.Verdict) {
	own, cut := s.Status().SessionID, false
	z.Intercept(func(r *zktest.Request) zktest.Verdict {
		switch {
		case r.SessionID == own && r.Op == zktest.OpMulti && !cut:
			cut = true
			return verdict
		case r.SessionID == own && r.Op == zktest.OpConnect:
			return zktest.Delay(time.Second)
		}
		return zktest.Pass
	})
}

// What an at-most-once consumer puts back is put back once, though the answer is lost and the item
// taken by somebody else before anybody looks.
func TestPutBackOnce(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		other := newQueue(t, t.Session())
		c := consumer(t, newQueue(t, s), queue.WithAutoAck(), queue.WithPrefetch(2))
		put(t, other, "a")
		put(t, other, "b")
		synctest.Wait()
		require.Equal(t, 0, length(t, other))
		cutsFirstMulti(t.Server, s, zktest.CutAfter)
		over := make(chan error, 1)
		go func() { over <- c.Close(bubble.Minute(t)) }() // ends with the answer
		require.Equal(t, []string{"a", "b"}, takes(t, other, 2))
		require.NoError(t, bubble.Get(t, over, "the end of the consumer"))
		require.Equal(t, 0, length(t, other))
	})
}

// What is put back has its id again, though where the ids lie is gone, as containers go that are
// empty.
func TestPutBackWithID(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, t.Session())
		put(t, q, "a", queue.WithID("red"))
		c := consumer(t, newQueue(t, s), queue.WithAutoAck(), queue.WithPrefetch(2))
		time.Sleep(time.Hour)
		require.NoError(t, c.Close(bubble.Minute(t)))
		require.Equal(t, 1, length(t, q))
		_, err := q.Put(bubble.Minute(t), nil, queue.WithID("red"))
		require.ErrorIs(t, err, queue.ErrDuplicate)
		require.Equal(t, []string{"a"}, takes(t, q, 1))
		put(t, q, "b", queue.WithID("red"))
	})
}

// What is put back finds a place, though the queue is gone meanwhile.
func TestPutBackIntoNothing(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, t.Session())
		put(t, q, "a")
		put(t, q, "b", queue.WithID("red"))
		c := consumer(t, newQueue(t, s), queue.WithAutoAck(), queue.WithPrefetch(2))
		synctest.Wait()
		require.NoError(t, s.DeleteAll(bubble.Minute(t), path))
		t.Server.ClearJournal()
		require.NoError(t, c.Close(bubble.Minute(t)))
		require.Less(t, len(t.Server.Journal()), 50, "requests")
		require.Equal(t, []string{"a", "b"}, takes(t, q, 2))
	})
}

// What is put back was in the queue before: a queue that has been filled meanwhile has more than
// its capacity until as many are taken, and then its room again.
func TestPutBackIntoFullQueue(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q := newQueue(t, t.Session(), queue.WithCapacity(2))
		full := func() {
			_, err := q.Put(bubble.Minute(t), nil)
			require.ErrorIs(t, err, queue.ErrFull)
		}
		put(t, q, "a")
		put(t, q, "b")
		c := consumer(t, q, queue.WithAutoAck(), queue.WithPrefetch(2))
		synctest.Wait()
		put(t, q, "c")
		put(t, q, "d")
		require.NoError(t, c.Close(bubble.Minute(t)))
		require.Equal(t, 4, length(t, q))
		full()
		require.Equal(t, []string{"c"}, takes(t, q, 1), "what is put back comes behind the others")
		put(t, q, "in the place of c")
		full()
		require.Equal(t, []string{"d", "a", "b", "in the place of c"}, takes(t, q, 4))
		put(t, q, "e")
		put(t, q, "f")
		full()
	})
}

// Somebody writes to a consumer's receipt: it goes on.
func TestWrittenReceipt(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, t.Session())
		c := consumer(t, newQueue(t, s), queue.WithAutoAck(), queue.WithPrefetch(2))
		receipts := path + "/receipts"
		write := func() {
			names, _, err := s.Children(bubble.Minute(t), receipts)
			require.NoError(t, err)
			for _, name := range names {
				_, err = s.Set(bubble.Minute(t), receipts+"/"+name, nil, -1)
				require.NoError(t, err)
			}
		}
		t.Server.Intercept(func() func(*zktest.Request) zktest.Verdict { // a consumer that asks for ever would be asked no more, and the test fail rather than hang
			count := 0
			return func(r *zktest.Request) zktest.Verdict {
				if r.SessionID == s.Status().SessionID && r.Op == zktest.OpMulti {
					if count++; count > 100 {
						return zktest.DropRequest
					}
				}
				return zktest.Pass
			}
		}())
		for range 3 {
			put(t, q, "x")
			bubble.Get(t, c.Items(), "an item")
			write()
		}
		put(t, q, "y")
		synctest.Wait()
		write()
		require.NoError(t, c.Close(bubble.Minute(t)))
		require.Equal(t, []string{"y"}, takes(t, q, 1))
	})
}
