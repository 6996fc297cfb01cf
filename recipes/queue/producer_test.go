// Puts: faults, contexts, WithHold; and the log of unsettled items. Helpers: world_test.go.

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

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A fault, or a rival, at any request of a producer.
func TestPutsWhateverHappens(t *testing.T) {
	t.Parallel()
	expire := func(fate zktest.Verdict) func(t *bubble.World, s *session.Session) zktest.Verdict {
		return func(t *bubble.World, s *session.Session) zktest.Verdict {
			go t.Server.Expire(s.Status().SessionID) // behind the request; ends at once
			return fate
		}
	}
	for name, row := range map[string]struct {
		happens func(t *bubble.World, s *session.Session) zktest.Verdict
		test    func(t *bubble.World, s *session.Session)
	}{
		"its session ends, and it was carried out":     {expire(zktest.CutAfter), putsByThree},
		"its session ends, and it was not carried out": {expire(zktest.CutBefore), putsByThree},
		"an overloaded server refuses it: it is sent again": {
			func(*bubble.World, *session.Session) zktest.Verdict { return zktest.Fail(zktest.ErrThrottled) },
			func(t *bubble.World, s *session.Session) { put(t, newQueue(t, s), "a", queue.WithID("red")) },
		},
		"its session is closed": {
			func(t *bubble.World, s *session.Session) zktest.Verdict {
				go func() { _ = s.Close(bubble.Minute(t)) }() // ends at once
				return zktest.Pass
			},
			func(t *bubble.World, s *session.Session) {
				if _, err := newQueue(t, s).Put(bubble.Minute(t), []byte("a")); err != nil {
					require.ErrorIs(t, err, session.ErrClosed)
				}
			},
		},
		"a rival gives the queue the same capacity, and puts an item": {
			func(t *bubble.World, _ *session.Session) zktest.Verdict {
				put(t, newQueue(t, t.Session(), queue.WithCapacity(5)), "b")
				return zktest.Pass
			},
			func(t *bubble.World, s *session.Session) { put(t, newQueue(t, s, queue.WithCapacity(5)), "a") },
		},
	} {
		atEach(t, name, row.happens, row.test)
	}
}

// putsByThree has three callers put items one after another: each item is put once, and those of
// each caller in order.
func putsByThree(t *bubble.World, s *session.Session) {
	q, taker := newQueue(t, s, queue.WithCapacity(20)), newQueue(t, t.Session())
	var all sync.WaitGroup
	for c := range 3 {
		all.Go(func() { // ends with its items
			for n := range 6 {
				opts := []queue.PutOption{queue.WithID(fmt.Sprint(c, "-", n)), queue.WithHeader("n", fmt.Sprint(n))}
				if _, err := q.Put(bubble.Minute(t), fmt.Append(nil, c, "-", n), opts[n%2:]...); err != nil {
					t.Errorf("put: %v", err)
				}
			}
		})
	}
	all.Wait()
	next := make(map[byte]byte)
	for _, d := range takes(t, taker, 18) {
		require.Equal(t, next[d[0]], d[2]-'0', d)
		next[d[0]]++
	}
	require.Equal(t, 0, length(t, taker))
}

// A context that has ended keeps a call from anything. A put whose context ends later is taken back
// if it was not sent, and says so; what was sent may be in the queue. None is held up by the
// others. Close puts first what waits, and puts that come later are refused.
func TestContextsAndClose(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		q, taker := newQueue(t, s), newQueue(t, t.Session())
		mine := errors.New("mine")
		ctx, cancel := context.WithCancelCause(t.Context())
		begin := func(ctx context.Context, data string) <-chan error {
			defer synctest.Wait()
			return bubble.Begin(func() error { _, err := q.Put(ctx, []byte(data)); return err })
		}
		put(t, q, "before")
		i := take(t, q)
		heal := t.Server.Partition(s.Status().SessionID)
		answers := []<-chan error{begin(ctx, "0"), begin(ctx, "1"), begin(ctx, "2")}
		patient := begin(context.Background(), "patient")
		cancel(mine)
		for n, answer := range answers {
			err := bubble.Within(t, time.Millisecond, answer, "an answer")
			require.ErrorIs(t, err, mine)
			require.Equal(t, n == 0, errors.Is(err, session.ErrUnknownOutcome), "the first is sent")
		}
		second, cancelSecond := context.WithTimeout(context.Background(), time.Second)
		defer cancelSecond()
		require.ErrorIs(t, i.Ack(second), context.DeadlineExceeded)
		heal()
		require.NoError(t, i.Ack(bubble.Minute(t)), "it goes on in the background")
		require.NoError(t, bubble.Within(t, time.Minute, patient, "the patient one"))

		require.ErrorIs(t, errOf(q.Put(ctx, []byte("x"))), mine)
		require.ErrorIs(t, errOf(q.Take(ctx)), mine)
		require.ErrorIs(t, errOf(q.Peek(ctx)), mine)
		heal = t.Server.Partition(s.Status().SessionID)
		waiting := begin(context.Background(), "waits")
		second, cancelSecond = context.WithTimeout(context.Background(), time.Second)
		defer cancelSecond()
		require.ErrorIs(t, q.Close(second), context.DeadlineExceeded)
		refuses(t, q, session.ErrClosed)
		heal()
		require.NoError(t, bubble.Within(t, time.Minute, waiting, "what waited"))
		require.Equal(t, []string{"0", "patient", "waits"}, takes(t, taker, 3))
		require.Equal(t, 0, length(t, taker))
	})
}

// The queue is deleted while the answer to a put is lost: the outcome stays unknown.
func TestTheReceiptIsDeleted(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s, o := t.Session(), t.Session()
		q := newQueue(t, s)
		put(t, q, "a")
		var heal func()
		t.AtKth(s, 1, func(*zktest.Request) zktest.Verdict {
			heal = t.Server.Partition(s.Status().SessionID)
			return zktest.DropReply
		})
		answer := bubble.Begin(func() error { _, err := q.Put(bubble.Minute(t), []byte("b")); return err })
		synctest.Wait()
		require.NoError(t, o.DeleteAll(bubble.Minute(t), path))
		heal()
		require.ErrorIs(t, bubble.Within(t, time.Minute, answer, "the answer"), session.ErrUnknownOutcome)
		put(t, q, "c")
		require.Equal(t, []string{"c"}, takes(t, q, 1))
	})
}

// Netflix#135: a put that fails tells its caller, and the next is not held up.
func TestB54_FailedPut(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		must(s.Create(bubble.Minute(t), path, nil, session.Parents(), session.WithNodeACL(session.AnyoneACL(session.PermRead)...)))
		q := newQueue(t, s)
		refuses(t, q, session.ErrNoAuth) // not even the receipt can be made
		require.NoError(t, s.Delete(bubble.Minute(t), path, -1))
		put(t, q, "a")
		remove := t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpMulti {
				return zktest.Fail(zktest.ErrNoAuth)
			}
			return zktest.Pass
		})
		refuses(t, q, session.ErrNoAuth)
		remove()
		put(t, q, "c")
		require.Equal(t, []string{"a", "c"}, takes(t, q, 2))
	})
}

// A put under a hold (of an item of another queue: any other would do) is done while the hold
// exists, and stays when it has ended. Under a lost one nothing is put: whether this process knows
// of the loss, or only ZooKeeper does.
func TestPutUnderAHold(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]func(id string) []queue.PutOption{
		"plain":        func(string) []queue.PutOption { return nil },
		"with an id":   func(id string) []queue.PutOption { return []queue.PutOption{queue.WithID(id)} },
		"with a delay": func(string) []queue.PutOption { return []queue.PutOption{queue.WithDelay(30 * time.Second)} },
	} {
		for _, known := range []bool{true, false} {
			each(t, fmt.Sprint(name, ", known: ", known), func(t *bubble.World) {
				s := t.Session()
				q := newQueue(t, s)
				jobs := queueAt(t, s, "/queues/jobs")
				put(t, jobs, "job")
				job := take(t, jobs)
				put(t, q, "before", append(opts("red"), queue.WithHold(job))...)
				putAll(t, q, 0, 2, queue.WithHold(job))
				if known {
					require.NoError(t, job.Ack(bubble.Minute(t)))
				} else {
					t.AtKth(s, 1, func(*zktest.Request) zktest.Verdict { // the put is on its way
						require.NoError(t, t.Server.Znodes(t).Delete(job.Path()))
						return zktest.Pass
					}, zktest.OpSync)
				}
				refuses(t, q, session.ErrLost, append(opts("blue"), queue.WithHold(job))...)
				put(t, q, "after")
				require.ElementsMatch(t, []string{"before", "0", "1", "after"}, takes(t, newQueue(t, t.Session()), 4))
				require.Equal(t, 0, length(t, q))
			})
		}
	}
}

// An item that was received and never settled is logged, with the place where it was asked for; one
// that is settled is not.
func TestAnItemThatIsNeverSettledIsLogged(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		var log bubble.Log
		s := t.Session(log.Option())
		q := newQueue(t, s, queue.WithUnsettledWarning(time.Minute))
		putAll(t, q, 0, 3)
		require.NoError(t, take(t, q).Ack(bubble.Minute(t)))
		at := bubble.After(1)
		must(q.Take(bubble.Minute(t)))
		consumed := bubble.After(1)
		c := must(q.Consume())
		time.Sleep(5 * time.Minute)
		require.Len(t, log.Warnings(path), 1, "what waits to be received is not forgotten")
		require.Contains(t, log.Warnings(path)[0], "an item was received and is not settled")
		require.Contains(t, log.Warnings(path)[0], at)
		bubble.Get(t, c.Items(), "an item")
		time.Sleep(2 * time.Minute)
		require.Len(t, log.Warnings(path), 2)
		require.Contains(t, log.Warnings(path)[1], consumed)
		require.NoError(t, c.Close(bubble.Minute(t)))
		put(t, q, "x")
		must(newQueue(t, s, queue.WithUnsettledWarning(0)).Take(bubble.Minute(t)))
		time.Sleep(2 * time.Minute)
		require.Len(t, log.Warnings(path), 2)
	})
}
