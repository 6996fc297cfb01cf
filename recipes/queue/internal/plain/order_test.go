package plain_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue/internal/plain"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Where what comes later is behind, one listing serves for many items; what others have taken
// meanwhile is passed over, and nothing is overtaken by a Take that failed.
func TestOneListingForManyItems(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q, other := newQueue(t, s, plain.Java), newQueue(t, t.Session(), plain.Java)
		for i := range 10 {
			put(t, other, plain.Java, fmt.Sprint(i))
		}
		id, listings, failing := s.Status().SessionID, 0, false
		t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && (r.Op == zktest.OpGetChildren || r.Op == zktest.OpGetChildren2) {
				listings++
			}
			if r.SessionID == id && r.Op == zktest.OpGetData && failing {
				failing = false
				return zktest.Fail(zktest.ErrNoAuth)
			}
			return zktest.Pass
		}))
		require.Equal(t, "0", take(t, q))
		require.Equal(t, "1", take(t, q))
		require.Equal(t, "2", take(t, other))
		require.Equal(t, "3", take(t, q))
		require.Equal(t, 1, listings)
		failing = true
		_, err := q.Take(bubble.Minute(t))
		require.Error(t, err)
		require.Equal(t, "4", take(t, q))
		require.Equal(t, 2, listings)
		require.NoError(t, other.Close(bubble.Minute(t)))
		for i := range 5 {
			require.Equal(t, fmt.Sprint(i+5), take(t, q))
		}
		waits := bubble.Begin(func() string { return take(t, q) })
		time.Sleep(time.Second)
		put(t, newQueue(t, t.Session(), plain.Java), plain.Java, "last")
		require.Equal(t, "last", bubble.Get(t, waits, "an item"))
	})
}

// With priorities, an item that is put now may be the first.
func TestAnItemThatComesLaterAndIsFirst(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q, other := newQueue(t, t.Session(), plain.CuratorPriority), newQueue(t, t.Session(), plain.CuratorPriority)
		put(t, q, plain.CuratorPriority, "b", "c", "d")
		require.Equal(t, "b", take(t, q))
		_, err := other.Put(bubble.Minute(t), [][]byte{[]byte("a")}, -1, 0)
		require.NoError(t, err)
		require.Equal(t, "a", take(t, q))
	})
}

// An item that is claimed while another is about to take it for good is the claim's.
func TestAClaimInFrontOfATake(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		taker, claimer := newQueue(t, s, plain.KazooLocking), newQueue(t, t.Session(), plain.KazooLocking)
		put(t, claimer, plain.KazooLocking, "a")
		claimed, id, first := make(chan *plain.Claimed, 1), s.Status().SessionID, true
		t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && r.Op == zktest.OpMulti && len(r.Ops) > 2 && first {
				first = false
				go func() { // ends with the claim
					c, _ := claimer.Claim(bubble.Minute(t))
					claimed <- c
				}()
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		}))
		taken := bubble.Begin(func() string { return take(t, taker) })
		c := bubble.Get(t, claimed, "the claim")
		time.Sleep(10 * time.Second)
		bubble.Never(t, taken, "what is claimed")
		require.True(t, c.Valid())
		require.NoError(t, c.Nack(bubble.Minute(t)))
		require.Equal(t, "a", bubble.Get(t, taken, "what was given back"))
	})
}

// Whoever may not read the queue is told so.
func TestAQueueThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		owner := t.Session(session.WithAuth("digest", []byte("a:b")), session.WithACL(session.AuthACL(session.PermAll)...))
		put(t, newQueue(t, owner, plain.KazooLocking), plain.KazooLocking, "a")
		q := newQueue(t, t.Session(), plain.KazooLocking)
		_, err := q.Take(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrNoAuth)
		_, err = q.Claim(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrNoAuth)
		_, err = q.Put(bubble.Minute(t), [][]byte{{}}, 0, 0)
		require.ErrorIs(t, err, session.ErrNoAuth)
		_, err = q.Peek(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrNoAuth)
		_, err = q.Len(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrNoAuth)
		require.NoError(t, q.Close(bubble.Minute(t)))
	})
}
