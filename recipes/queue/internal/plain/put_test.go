package plain_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue/internal/plain"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// What a layout can't express is refused.
func TestWhatCantBePut(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		for _, l := range []plain.Layout{plain.Java, plain.Kazoo, plain.KazooLocking, plain.Curator, plain.CuratorPriority, plain.CuratorDelay} {
			q := newQueue(t, s, l)
			if !l.Delays() {
				_, err := q.Put(bubble.Minute(t), [][]byte{{}}, l.UsualPriority(), time.Second)
				require.ErrorIs(t, err, session.ErrUnsupported)
				require.ErrorContains(t, err, "WithDelay")
			}
			for _, n := range []int{-1 << 40, 1 << 40} {
				_, err := q.Put(bubble.Minute(t), [][]byte{{}}, n, 0)
				require.ErrorContains(t, err, "WithPriority")
				require.Equal(t, !l.Ranked(), errors.Is(err, session.ErrUnsupported))
			}
			if !l.Claims() {
				_, err := q.Claim(bubble.Minute(t))
				require.ErrorIs(t, err, session.ErrUnsupported)
			}
		}
		require.NotContains(t, t.Server.Dump(), path)
	})
}

// An item is not taken before it is due, and then at that instant.
func TestADelay(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s, plain.CuratorDelay)
		began := time.Now()
		for _, d := range []time.Duration{time.Minute, time.Second, time.Hour, 0, time.Second} {
			_, err := q.Put(bubble.Minute(t), [][]byte{[]byte(d.String())}, 0, d)
			require.NoError(t, err)
		}
		require.Equal(t, 5, length(t, q))
		for _, d := range []time.Duration{0, time.Second, time.Second, time.Minute, time.Hour} {
			e, err := q.Take(t.Context())
			require.NoError(t, err)
			require.Equal(t, d.String(), string(e.Data))
			require.InDelta(t, d, time.Since(began), float64(time.Second/100))
			require.GreaterOrEqual(t, time.Since(began), d)
			if d == time.Minute {
				_, err := q.Peek(bubble.Minute(t))
				require.ErrorIs(t, err, plain.ErrEmpty)
			}
		}
	})
}

// A Put whose caller has left while the answer was out may be carried out late: those that follow
// are not mistaken for it.
func TestAPutThatWasGivenUp(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]zktest.Verdict{"late": zktest.Delay(time.Second), "lost": zktest.DropRequest, "unanswered": zktest.DropReply} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				q := newQueue(t, s, plain.Java)
				put(t, q, plain.Java, "a")
				n, id := 0, s.Status().SessionID
				t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
					if r.SessionID == id && r.Op == zktest.OpMulti {
						if n++; n == 1 {
							return fate
						}
					}
					return zktest.Pass
				}))
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				_, err := q.Put(ctx, [][]byte{[]byte("b")}, 0, 0)
				require.ErrorIs(t, err, session.ErrUnknownOutcome)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				put(t, q, plain.Java, "c")
				want := []string{"a", "c"}
				if name != "lost" {
					want = []string{"a", "b", "c"}
				}
				var got []string
				for range want {
					got = append(got, take(t, q))
				}
				require.Equal(t, want, got)
				require.Equal(t, 0, length(t, q))
			})
		})
	}
}

// A Put whose answer is lost with the session is made up for in the next.
func TestAPutBeyondTheSession(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]zktest.Verdict{"not carried out": zktest.DropRequest, "carried out": zktest.DropReply} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				q := newQueue(t, s, plain.Kazoo)
				put(t, q, plain.Kazoo, "a")
				id := s.Status().SessionID
				t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
					if r.SessionID == id && r.Op == zktest.OpMulti {
						time.AfterFunc(time.Millisecond, func() { t.Server.Expire(id) })
						return fate
					}
					return zktest.Pass
				}))
				names := put(t, q, plain.Kazoo, "b", "c")
				require.EqualValues(t, 2, s.Status().Epoch)
				require.NoError(t, q.Remove(bubble.Minute(t), names[0]))
				require.Equal(t, []string{"a", "c"}, []string{take(t, q), take(t, q)})
				require.Equal(t, 0, length(t, q))
			})
		})
	}
}

// What can be put can be claimed, however large it is.
func TestLargeItems(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q := newQueue(t, t.Session(), plain.KazooLocking)
		put(t, q, plain.KazooLocking, "small")
		size := 1 << 20
		for {
			_, err := q.Put(bubble.Minute(t), [][]byte{make([]byte, size)}, 0, 0)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, session.ErrTooLarge)
			size -= 16
		}
		c := claim(t, q)
		require.Len(t, c.Entry.Data, size)
		require.NoError(t, c.Ack(bubble.Minute(t)))
	})
}

// What others have put there and no layout knows ends nobody who takes: it is left alone.
func TestForeignData(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s, plain.Curator)
		create := func(path, data string, opts ...session.CreateOption) {
			_, err := s.Create(bubble.Minute(t), path, []byte(data), append(opts, session.Parents())...)
			require.NoError(t, err)
		}
		create(path+"/queue-", "not Curator's", session.Sequential())
		create(path+"/queue-", "\x00\x01\x00\x01\x02", session.Sequential()) // no item
		put(t, q, plain.Curator, "a", "b")
		create(path+"/queue-0000000002/child", "")
		e, err := q.Peek(bubble.Minute(t))
		require.NoError(t, err)
		require.Equal(t, "a", string(e.Data))
		require.Equal(t, "b", take(t, q))
		waits := bubble.Begin(func() string { return take(t, q) })
		time.Sleep(time.Second)
		require.Len(t, children(t, s, path), 2)
		put(t, q, plain.Curator, "c")
		require.Equal(t, "c", bubble.Get(t, waits, "an item"))
	})
}

// Whoever changes an item's data in the last moment has changed what is taken or claimed.
func TestDataThatChange(t *testing.T) {
	t.Parallel()
	for _, l := range []plain.Layout{plain.Java, plain.KazooLocking} {
		bubble.Run(t, func(t *bubble.World) {
			s, other := t.Session(), t.Session()
			q := newQueue(t, s, l)
			put(t, q, l, "old")
			e, err := q.Peek(bubble.Minute(t))
			require.NoError(t, err)
			first, id := true, s.Status().SessionID
			t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
				if r.SessionID == id && r.Op == zktest.OpMulti && first {
					first = false
					go func() { _, _ = other.Set(bubble.Minute(t), e.Path, []byte("new"), -1) }() // ends with its answer
					return zktest.Delay(time.Second)
				}
				return zktest.Pass
			}))
			if l.Claims() {
				require.Equal(t, "new", string(claim(t, q).Entry.Data))
			} else {
				require.Equal(t, "new", take(t, q))
			}
		})
	}
}
