package queue_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// unreadable is a session whose znodes nobody may read.
func unreadable(t *bubble.World) *session.Session {
	t.Helper()
	return t.Session(session.WithACL(session.AnyoneACL(session.PermAll &^ session.PermRead)...))
}

// receives receives an item of a consumer, and acknowledges it. It fails with the reason if the
// consumer has ended.
func receives(t testing.TB, c *queue.Consumer, want string) {
	t.Helper()
	select {
	case i, open := <-c.Items():
		if !open {
			t.Fatalf("the consumer ended: %v", c.Err())
		}
		require.Equal(t, want, string(i.Data()))
		require.NoError(t, i.Ack(bubble.Minute(t)))
	case <-time.After(time.Minute):
		t.Fatalf("%s did not come", want)
	}
}

// An item that may not be read is skipped and reported, and the consumer goes on with those behind
// it. The item stays where it is.
func TestUnreadableItemIsSkipped(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]queue.ConsumeOption{"claimed": nil, "at most once": {queue.WithAutoAck()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				q := newQueue(t, t.Session())
				put(t, q, "a")
				put(t, newQueue(t, unreadable(t)), "x")
				put(t, q, "b")
				_, err := newQueue(t, unreadable(t)).PutAll(bubble.Minute(t), data(0, 3))
				require.NoError(t, err)
				put(t, q, "c")
				c := consumer(t, newQueue(t, t.Session()), opts...)
				for _, want := range []string{"a", "b", "c"} {
					receives(t, c, want)
				}
				require.NoError(t, c.Err())
				require.ErrorIs(t, bubble.Get(t, c.Errors(), "what was skipped"), session.ErrNoAuth)
				put(t, q, "d")
				receives(t, c, "d")
				require.GreaterOrEqual(t, length(t, q), 2, "what cannot be read is there")
				require.NoError(t, c.Close(bubble.Minute(t)))
				bubble.Closes(t, c.Errors(), "the reports, with the consumer")
			})
		})
	}
}

// Take goes on, too.
func TestUnreadableItemIsSkippedByTake(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		put(t, newQueue(t, t.Session()), "a")
		put(t, newQueue(t, unreadable(t)), "x")
		put(t, newQueue(t, t.Session()), "b")
		q := newQueue(t, t.Session())
		require.Equal(t, []string{"a", "b"}, takes(t, q, 2))
	})
}

// Nobody need receive the reports: the oldest are dropped, and nothing is held up.
func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q, bad := newQueue(t, t.Session()), newQueue(t, unreadable(t))
		put(t, q, "a")
		for range 100 {
			put(t, bad, "x")
		}
		put(t, q, "b")
		c := consumer(t, newQueue(t, t.Session()))
		receives(t, c, "a")
		receives(t, c, "b")
		require.NoError(t, c.Close(bubble.Minute(t)))
		reports := 0
		for err := range c.Errors() {
			require.ErrorIs(t, err, session.ErrNoAuth)
			reports++
		}
		require.Positive(t, reports)
		require.LessOrEqual(t, reports, 16)
	})
}

// Dead letters that may not be written: the item that should go there stays, which is reported, and
// the others are consumed.
func TestUnwritableDeadLetters(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		_, err := s.Create(bubble.Minute(t), "/graveyard", nil, session.NodeACL(session.AnyoneACL(session.PermRead)...))
		require.NoError(t, err)
		q := newQueue(t, s, queue.WithMaxAttempts(1), queue.WithDeadLetters("/graveyard"))
		put(t, q, "poison")
		lost := t.Session() // received once, by one that dies with it
		take(t, newQueue(t, lost, queue.WithMaxAttempts(1), queue.WithDeadLetters("/graveyard")))
		require.NoError(t, lost.Close(bubble.Minute(t)))
		c := consumer(t, newQueue(t, t.Session(), queue.WithMaxAttempts(1), queue.WithDeadLetters("/graveyard")))
		for _, d := range numbered(0, 5) {
			put(t, q, d)
			receives(t, c, d)
		}
		require.ErrorIs(t, bubble.Get(t, c.Errors(), "the failure"), session.ErrNoAuth)
		require.NoError(t, c.Err())
		require.Equal(t, 1, length(t, q), "what could not be buried is there")
	})
}

// What a server refuses once, for its quota, for an error of its own or because it is overloaded,
// ends no consumer: it is reported, if anything was skipped, and tried again.
func TestConsumerOutlivesRefusals(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]zktest.Code{"quota": zktest.ErrQuotaExceeded, "system": zktest.ErrSystem, "throttled": zktest.ErrThrottled} {
		for what, op := range map[string]zktest.Op{"transaction": zktest.OpMulti, "read": zktest.OpGetData, "listing": zktest.OpGetChildren2} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				bubble.Run(t, func(t *bubble.World) {
					q, s := newQueue(t, t.Session()), t.Session()
					c := consumer(t, newQueue(t, s))
					put(t, q, "a")
					receives(t, c, "a")
					settled()
					id := s.Status().SessionID
					var refused atomic.Int64
					t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
						if r.SessionID == id && (r.Op == op || op == zktest.OpGetChildren2 && r.Op == zktest.OpGetChildren) && refused.Add(1) <= 3 {
							return zktest.Fail(code)
						}
						return zktest.Pass
					}))
					for _, d := range numbered(0, 3) {
						put(t, q, d)
					}
					left := map[string]bool{"0": true, "1": true, "2": true} // one may have been skipped for a while
					for range 3 {
						i, open := bubble.Within(t, time.Minute, c.Items(), "an item"), c.Err() == nil
						require.True(t, open, "the consumer ended: %v", c.Err())
						require.True(t, left[string(i.Data())])
						delete(left, string(i.Data()))
						require.NoError(t, i.Ack(bubble.Minute(t)))
					}
					require.NoError(t, c.Err())
					require.Equal(t, 0, length(t, q))
				})
			})
		}
	}
}
