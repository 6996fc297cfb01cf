package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Whichever request of a producer its session ends with, carried out or not: each item is put once,
// and those of each caller in order.
func TestPutsOutliveTheSession(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]zktest.Verdict{"carried out": zktest.CutAfter, "not carried out": zktest.CutBefore} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for k, more := 1, true; more; k++ {
				t.Run(fmt.Sprint(k), func(t *testing.T) {
					more = false
					bubble.Run(t, func(t *bubble.World) {
						s := t.Session()
						met := t.AtKth(s, k, func(*zktest.Request) zktest.Verdict {
							go t.Server.Expire(s.Status().SessionID) // behind the request; ends at once
							return fate
						}, zktest.OpSync)
						putTogetherBy(t, newQueue(t, s, queue.WithCapacity(20)), 3, 6)
						more = met()
						next := make(map[byte]byte)
						for _, d := range takes(t, newQueue(t, t.Session()), 18) {
							require.Equal(t, next[d[0]], d[2]-'0', d)
							next[d[0]]++
						}
						require.Equal(t, 0, length(t, newQueue(t, t.Session())))
					})
				})
				require.Less(t, k, 100, "it has an end")
			}
		})
	}
}

// putTogetherBy has callers put items one after another, each caller its own.
func putTogetherBy(t testing.TB, q *queue.Queue, callers, each int) {
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() { // ends with its items
			for n := range each {
				opts := []queue.PutOption{queue.WithID(fmt.Sprint(c, "-", n)), queue.WithHeader("n", fmt.Sprint(n))}
				if _, err := q.Put(bubble.Minute(t), fmt.Append(nil, c, "-", n), opts[n%2:]...); err != nil {
					t.Errorf("put: %v", err)
				}
			}
		})
	}
	all.Wait()
}

// A call whose context ends takes back what was not sent, and says so; what was sent may be in the
// queue. None of them is held up by the others.
func TestPutsAreWithdrawn(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		put(t, q, "before")
		heal := t.Server.Partition(s.Status().SessionID)
		mine := errors.New("mine")
		ctx, cancel := context.WithCancelCause(t.Context())
		var answers []<-chan error
		for n := range 3 {
			answers = append(answers, bubble.Begin(func() error {
				_, err := q.Put(ctx, fmt.Append(nil, n))
				return err
			}))
			synctest.Wait()
		}
		patient := bubble.Begin(func() error {
			_, err := q.Put(context.Background(), []byte("patient"))
			return err
		})
		synctest.Wait()
		cancel(mine)
		for n, answer := range answers {
			err := bubble.Within(t, time.Millisecond, answer, "an answer")
			require.ErrorIs(t, err, mine)
			require.Equal(t, n == 0, errors.Is(err, session.ErrUnknownOutcome), "the first is sent")
		}
		time.Sleep(5 * time.Second)
		heal()
		require.NoError(t, bubble.Within(t, time.Minute, patient, "the patient one"))
		require.Equal(t, []string{"before", "0", "patient"}, takes(t, q, 3))
	})
}

// The queue is deleted while the answer to a put is lost: nobody knows any more.
func TestTheReceiptIsDeleted(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s, o := t.Session(), t.Session()
		q := newQueue(t, s)
		put(t, q, "a")
		var heal func()
		t.AtKth(s, 1, func(*zktest.Request) zktest.Verdict {
			heal = t.Server.Partition(s.Status().SessionID)
			return zktest.DropReply
		})
		answer := bubble.Begin(func() error {
			_, err := q.Put(bubble.Minute(t), []byte("b"))
			return err
		})
		synctest.Wait()
		require.NoError(t, o.DeleteAll(bubble.Minute(t), path))
		heal()
		require.ErrorIs(t, bubble.Within(t, time.Minute, answer, "the answer"), session.ErrUnknownOutcome)
		put(t, q, "c")
		require.Equal(t, []string{"c"}, takes(t, q, 1))
	})
}

// Close puts first what waits, and puts that come later are refused.
func TestCloseWaitsForPuts(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		heal := t.Server.Partition(s.Status().SessionID)
		waiting := bubble.Begin(func() error {
			_, err := q.Put(context.Background(), []byte("a"))
			return err
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, q.Close(ctx), context.DeadlineExceeded)
		_, err := q.Put(bubble.Minute(t), nil)
		require.ErrorIs(t, err, session.ErrClosed)
		heal()
		require.NoError(t, bubble.Within(t, time.Minute, waiting, "what waited"))
		require.Equal(t, []string{"a"}, takes(t, newQueue(t, s), 1))
	})
}

// What a first put needs may be refused, too.
func TestAPutWithoutARightToItsReceipt(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		_, err := s.Create(bubble.Minute(t), path, nil, session.Parents(), session.NodeACL(session.AnyoneACL(session.PermRead)...))
		require.NoError(t, err)
		_, err = newQueue(t, s).Put(bubble.Minute(t), []byte("a"))
		require.ErrorIs(t, err, session.ErrNoAuth)
	})
}

// The session is closed while the first put of a handle is under way, at any of its requests.
func TestTheSessionIsClosedDuringAPut(t *testing.T) {
	t.Parallel()
	for k, more := 1, true; more; k++ {
		more = false
		bubble.Run(t, func(t *bubble.World) {
			s := t.Session()
			q := newQueue(t, s)
			met := t.AtKth(s, k, func(*zktest.Request) zktest.Verdict {
				go func() { _ = s.Close(bubble.Minute(t)) }() // ends at once
				return zktest.Pass
			}, zktest.OpSync)
			if _, err := q.Put(bubble.Minute(t), []byte("a")); err != nil {
				require.ErrorIs(t, err, session.ErrClosed)
			}
			more = met()
		})
		require.Less(t, k, 20)
	}
}

// An overloaded server refuses any of the requests of a put: it is sent again.
func TestAThrottledPutGoesOn(t *testing.T) {
	t.Parallel()
	for k, more := 1, true; more; k++ {
		bubble.Run(t, func(t *bubble.World) {
			s := t.Session()
			met := t.Kth(s, k, zktest.Fail(zktest.ErrThrottled), zktest.OpSync)
			_, err := newQueue(t, s).Put(bubble.Minute(t), []byte("a"), queue.WithID("red"))
			more = met()
			require.NoError(t, err, "request %d", k)
		})
		require.Less(t, k, 100)
	}
}

// Somebody deletes the queue at any request of the puts, and goes on while that is on its way.
func TestPutsGoOnWhileTheQueueIsDeleted(t *testing.T) {
	t.Parallel()
	for k, more := 1, true; more; k++ {
		bubble.Run(t, func(t *bubble.World) {
			s, o := t.Session(), t.Session()
			q := newQueue(t, s, queue.WithCapacity(5))
			gone := bubble.Begin(func() error { return nil })
			met := t.AtKth(s, k, func(*zktest.Request) zktest.Verdict {
				gone = bubble.Begin(func() error { return o.DeleteAll(bubble.Minute(t), path) })
				return zktest.Delay(time.Second)
			}, zktest.OpSync)
			for n := range 4 {
				if _, err := q.Put(bubble.Minute(t), []byte("a"), queue.WithID(fmt.Sprint(n))); err != nil {
					require.ErrorIs(t, err, session.ErrUnknownOutcome)
				}
			}
			more = met()
			require.NoError(t, bubble.Within(t, time.Minute, gone, "the deletion"))
			put(t, q, "last")
		})
		require.Less(t, k, 200)
	}
}
