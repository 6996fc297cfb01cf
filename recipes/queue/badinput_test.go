package queue_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// hide takes everybody's right to read items away.
func hide(t *bubble.World, s *session.Session, ids ...string) {
	t.Helper()
	bucket := path + "/items/0-0000000000"
	names, _, err := s.Children(bubble.Minute(t), bucket)
	require.NoError(t, err)
	for _, id := range ids {
		at := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, id) })
		_, err := s.SetACL(bubble.Minute(t), bucket+"/"+names[at], session.AnyoneACL(session.PermAll&^session.PermRead), -1)
		require.NoError(t, err)
	}
}

// An item that may not be read is skipped and reported, and the consumer goes on with those behind
// it. The item stays where it is.
func TestUnreadableItemIsSkipped(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]queue.ConsumeOption{"claimed": nil, "at most once": {queue.WithAutoAck()}} {
		each(t, name, func(t *bubble.World) {
			s := t.Session()
			q := newQueue(t, s)
			put(t, q, "a")
			x := put(t, q, "x")
			put(t, q, "b")
			ids, err := q.PutAll(bubble.Minute(t), data(0, 3))
			require.NoError(t, err)
			put(t, q, "c")
			hide(t, s, append(ids, x)...)
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
	}
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
		for what, op := range map[string]zktest.Op{"transaction": zktest.OpMulti, "look": zktest.OpMultiRead} {
			each(t, name+", "+what, func(t *bubble.World) {
				q, s := newQueue(t, t.Session()), t.Session()
				c := consumer(t, newQueue(t, s))
				put(t, q, "a")
				receives(t, c, "a")
				settled()
				id := s.Status().SessionID
				var refused atomic.Int64
				t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
					if r.SessionID == id && r.Op == op && refused.Add(1) <= 3 {
						return zktest.Fail(code)
					}
					return zktest.Pass
				}))
				for _, d := range numbered(0, 3) {
					put(t, q, d)
				}
				left := map[string]bool{"0": true, "1": true, "2": true} // one may have been skipped for a while
				for range 3 {
					i, open := bubble.Within(t, 2*time.Minute, c.Items(), "an item"), c.Err() == nil
					require.True(t, open, "the consumer ended: %v", c.Err())
					require.True(t, left[string(i.Data())])
					delete(left, string(i.Data()))
					require.NoError(t, i.Ack(bubble.Minute(t)))
				}
				require.NoError(t, c.Err())
				require.Equal(t, 0, length(t, q))
			})
		}
	}
}
