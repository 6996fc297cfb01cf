package plain_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue/internal/plain"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Whatever request or answer is lost: what is put is there once, in order, and its names are known.
func TestALostAnswerOfAPut(t *testing.T) {
	t.Parallel()
	bubble.EachFate(t, func(t *bubble.World, _ int, strike func(*session.Session)) {
		s := t.Session()
		q := newQueue(t, s, plain.Kazoo)
		strike(s)
		names := put(t, q, plain.Kazoo, "a", "b")
		names = append(names, put(t, q, plain.Kazoo, "c")...)
		other := newQueue(t, t.Session(), plain.Kazoo)
		for _, name := range names {
			e, err := other.Peek(bubble.Minute(t))
			require.NoError(t, err)
			require.Equal(t, name, e.Name)
			require.Equal(t, string(rune('a'+3-length(t, other))), take(t, other))
		}
		require.Equal(t, 0, length(t, other))
	})
}

// The same with what is taken: each item once.
func TestALostAnswerOfATake(t *testing.T) {
	t.Parallel()
	for _, l := range []plain.Layout{plain.Java, plain.KazooLocking, plain.Curator} {
		bubble.EachFate(t, func(t *bubble.World, _ int, strike func(*session.Session)) {
			s := t.Session()
			putter, q := newQueue(t, t.Session(), l), newQueue(t, s, l)
			put(t, putter, l, "a", "b", "c")
			require.NoError(t, putter.Close(bubble.Minute(t)))
			strike(s)
			require.Equal(t, []string{"a", "b", "c"}, []string{take(t, q), take(t, q), take(t, q)})
			require.Equal(t, 0, length(t, q))
			require.NoError(t, q.Close(bubble.Minute(t)))
			require.Empty(t, children(t, s, path+"-troupe/receipts"), "what the queue had for itself is gone")
		})
	}
}

// The same with claims.
func TestALostAnswerOfAClaim(t *testing.T) {
	t.Parallel()
	bubble.EachFate(t, func(t *bubble.World, _ int, strike func(*session.Session)) {
		s := t.Session()
		put(t, newQueue(t, t.Session(), plain.KazooLocking), plain.KazooLocking, "a", "b")
		q := newQueue(t, s, plain.KazooLocking)
		strike(s)
		a := claim(t, q)
		require.Equal(t, "a", string(a.Entry.Data))
		require.NoError(t, a.Nack(bubble.Minute(t)))
		a = claim(t, q)
		require.Equal(t, "a", string(a.Entry.Data))
		stat, exists, err := s.Exists(bubble.Minute(t), a.Path())
		require.NoError(t, err)
		require.True(t, exists)
		require.Equal(t, stat.Czxid, a.Token())
		b := claim(t, q)
		require.Equal(t, "b", string(b.Entry.Data))
		require.NoError(t, a.Ack(bubble.Minute(t)))
		require.NoError(t, b.Ack(bubble.Minute(t)))
		require.Equal(t, 0, length(t, q))
		require.Empty(t, children(t, s, path+"/taken"))
	})
}

// A claim ends with its ZooKeeper session, and what is done with it then changes nothing.
func TestAClaimEndsWithItsSession(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		slow, quick := t.Session(), t.Session()
		mine, others := newQueue(t, slow, plain.KazooLocking), newQueue(t, quick, plain.KazooLocking)
		put(t, others, plain.KazooLocking, "a")
		first := claim(t, mine)
		t.Server.Expire(slow.Status().SessionID)
		second := claim(t, others)
		require.Greater(t, second.Token(), first.Token())
		bubble.Closes(t, first.Done(), "the loss")
		require.ErrorIs(t, first.Err(), session.ErrExpired)
		require.ErrorIs(t, first.Ack(bubble.Minute(t)), session.ErrLost)
		require.ErrorIs(t, first.Nack(bubble.Minute(t)), session.ErrLost)
		require.NoError(t, second.Nack(bubble.Minute(t)))
		third := claim(t, mine) // in the next epoch
		require.Greater(t, third.Token(), second.Token())
		require.NoError(t, third.Ack(bubble.Minute(t)))
	})
}

// Trust that runs out ends a claim. When the connection is back, others can have the item.
func TestAClaimEndsWithTrust(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		cut, other := t.Session(), t.Session()
		mine, others := newQueue(t, cut, plain.KazooLocking), newQueue(t, other, plain.KazooLocking)
		put(t, others, plain.KazooLocking, "a")
		c := claim(t, mine)
		heal := t.Server.Partition(cut.Status().SessionID)
		bubble.Closes(t, c.Done(), "the loss")
		require.ErrorIs(t, c.Err(), session.ErrUntrusted)
		heal()
		next := claim(t, others)
		require.Equal(t, "a", string(next.Entry.Data))
		require.EqualValues(t, 1, cut.Status().Epoch, "the session has survived")
		require.NoError(t, next.Ack(bubble.Minute(t)))
	})
}

// A claim that somebody deletes is made by another at once: that one is not touched, on whatever
// server the first notices.
func TestTheNextClaimIsNotTouched(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		bubble.Run(t, func(t *bubble.World) {
			s := t.SessionOn(1)
			mine, others := newQueue(t, s, plain.KazooLocking), newQueue(t, t.SessionOn(2), plain.KazooLocking)
			t.Cleanup(t.Server.Intercept(bubble.Slowly(seed)))
			put(t, mine, plain.KazooLocking, "a")
			c := claim(t, mine)
			time.Sleep(time.Second) // until it is watched
			require.NoError(t, s.Delete(bubble.Minute(t), c.Path(), -1))
			next := claim(t, others)
			bubble.Closes(t, c.Done(), "the loss")
			require.NoError(t, mine.Close(bubble.Minute(t)))
			time.Sleep(time.Second)
			require.NoError(t, next.Ack(bubble.Minute(t)))
		}, zktest.WithServers(3), zktest.WithSeed(seed))
	}
}

// An Ack whose answer is lost with the session: nobody can tell, or the item shows that it was not
// carried out.
func TestAnAckIsLostWithItsSession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fate    zktest.Verdict
		unknown bool
	}{"carried out": {zktest.DropReply, true}, "not carried out": {zktest.DropRequest, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				q := newQueue(t, s, plain.KazooLocking)
				put(t, q, plain.KazooLocking, "a")
				claimed := claim(t, q)
				id := s.Status().SessionID
				t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
					if r.SessionID == id && r.Op == zktest.OpMulti {
						time.AfterFunc(time.Millisecond, func() { t.Server.Expire(id) })
						return c.fate
					}
					return zktest.Pass
				}))
				err := claimed.Ack(bubble.Minute(t))
				require.ErrorIs(t, err, session.ErrLost)
				if c.unknown {
					require.ErrorIs(t, err, session.ErrUnknownOutcome)
				} else {
					require.NotErrorIs(t, err, session.ErrUnknownOutcome)
					require.Equal(t, "a", string(claim(t, q).Entry.Data))
				}
			})
		})
	}
}

// If the caller has left while an item is deleted for it, the next call gets that item; Close puts
// it again.
func TestWhatWasTakenForACallerThatHasLeft(t *testing.T) {
	t.Parallel()
	for name, closes := range map[string]bool{"the next call": false, "Close": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				q := newQueue(t, s, plain.Java)
				put(t, q, plain.Java, "a")
				id := s.Status().SessionID
				t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
					if r.SessionID == id && r.Op == zktest.OpMulti {
						return zktest.Delay(time.Second)
					}
					return zktest.Pass
				}))
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				_, err := q.Take(ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				if closes {
					require.NoError(t, q.Close(bubble.Minute(t)))
					q = newQueue(t, s, plain.Java)
				}
				require.Equal(t, "a", take(t, q))
			})
		})
	}
}

// The same with a claim: it is given up.
func TestAClaimForACallerThatHasLeft(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s, plain.KazooLocking)
		put(t, q, plain.KazooLocking, "a")
		id := s.Status().SessionID
		remove := t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && r.Op == zktest.OpMulti {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := q.Claim(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		remove()
		require.Equal(t, "a", string(claim(t, newQueue(t, t.Session(), plain.KazooLocking)).Entry.Data))
	})
}

// Close ends the calls that wait, and gives up what is claimed.
func TestClose(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s, plain.KazooLocking)
		put(t, q, plain.KazooLocking, "a")
		c := claim(t, q)
		waits := bubble.Begin(func() error {
			_, err := q.Claim(bubble.Minute(t))
			return err
		})
		time.Sleep(time.Second)
		require.NoError(t, q.Close(bubble.Minute(t)))
		require.NoError(t, q.Close(bubble.Minute(t)), "again")
		require.ErrorIs(t, bubble.Get(t, waits, "the end of the wait"), session.ErrClosed)
		require.ErrorIs(t, c.Err(), session.ErrClosed)
		require.ErrorIs(t, c.Ack(bubble.Minute(t)), session.ErrLost)
		require.Empty(t, children(t, s, path+"/taken"))
		_, err := q.Take(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrClosed)
		_, err = q.Put(bubble.Minute(t), [][]byte{{}}, 0, 0)
		require.ErrorIs(t, err, session.ErrClosed)
	})
}
