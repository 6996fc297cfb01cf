package lock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestLockAndRelease(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l := w.lock(w.Host("a"))
		first := w.held(l)
		require.True(w, first.Valid())
		require.NoError(w, first.Err())
		require.Equal(w, 1, w.nodes())
		require.NoError(w, first.Release(w.Context()))
		require.ErrorIs(w, first.Err(), session.ErrReleased)
		require.False(w, first.Valid())
		require.ErrorIs(w, context.Cause(first.Context()), session.ErrReleased)
		require.Zero(w, w.nodes())
		require.NoError(w, first.Release(w.Context()), "it is idempotent")

		second := w.held(l)
		require.Greater(w, second.Token(), first.Token())
		require.NoError(w, l.Close(w.Context()))
		require.ErrorIs(w, second.Err(), session.ErrClosed)
		require.ErrorIs(w, second.Err(), session.ErrLost)
		require.ErrorIs(w, l.Err(), session.ErrClosed)
		require.Zero(w, w.nodes())
	})
}

func TestTheStandingIntentStandsAgainAfterEachRelease(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l := w.lock(w.Host("a"))
		l.Acquire()
		l.Acquire()
		var last int64
		for range 3 {
			g := bubble.Within(w, time.Second, l.Acquired())
			require.Greater(w, g.Token(), last)
			last = g.Token()
			require.NoError(w, g.Release(w.Context()))
		}
		g := bubble.Within(w, time.Second, l.Acquired())
		require.NoError(w, l.Release(w.Context()))
		require.ErrorIs(w, g.Err(), session.ErrReleased)
		require.NoError(w, l.Release(w.Context()), "without an intent it does nothing")
		bubble.Never(w, l.Acquired(), "a grant without an intent")
		require.Zero(w, w.nodes())
	})
}

// B17, B19, B30: the verdict of a try comes from ZooKeeper's order, at once.
func TestB17_B19_TryLock(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a, b := w.lock(w.Host("a")), w.lock(w.Host("b"))
		g, err := a.TryLock(w.Context())
		require.NoError(w, err)
		began := time.Now()
		_, err = a.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		_, err = b.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		require.Zero(w, time.Since(began))
		synctest.Wait()
		require.Equal(w, 1, w.nodes(), "a refused try leaves nothing")
		require.NoError(w, g.Release(w.Context()))
		g, err = b.TryLock(w.Context())
		require.NoError(w, err)
		require.NoError(w, g.Release(w.Context()))
	})
}

// B19: a context bounds the wait, and no grant comes of it later.
func TestB19_AContextBoundsTheWait(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a, b := w.lock(w.Host("a")), w.lock(w.Host("b"))
		g := w.held(a)
		ctx, cancel := context.WithTimeout(w.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, err := b.Lock(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Equal(w, 3*time.Second, time.Since(began))
		synctest.Wait()
		require.Equal(w, 1, w.nodes(), "the place is given up")
		require.NoError(w, g.Release(w.Context()))
		synctest.Wait()
		require.Zero(w, w.nodes())
	})
}

// B26: a thousand goroutines on one instance exclude each other, with one znode.
func TestB26_ManyGoroutinesOneZnode(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l := w.lock(w.Host("a"))
		var wg sync.WaitGroup
		inside, most := 0, 0
		for range 1000 {
			wg.Go(func() {
				err := l.Do(w.Context(), func(context.Context, *lock.Grant) error {
					inside++ // safe: that is the point
					most = max(most, w.nodes())
					if inside != 1 {
						return errors.New("two inside")
					}
					inside--
					return nil
				})
				if err != nil {
					w.Error(err)
				}
			})
		}
		wg.Wait()
		require.Equal(w, 1, most)
		synctest.Wait()
		require.Zero(w, w.nodes())
	})
}

func TestDo(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		l := w.lock(h)
		boom := errors.New("boom")
		err := l.Do(w.Context(), func(ctx context.Context, g *lock.Grant) error {
			require.NoError(w, ctx.Err())
			_, err := l.Lock(ctx)
			require.ErrorIs(w, err, lock.ErrDeadlock)
			_, err = w.lock(h).TryLock(g.Context())
			require.ErrorIs(w, err, lock.ErrDeadlock)
			return boom
		})
		require.ErrorIs(w, err, boom)
		require.Zero(w, w.nodes())

		require.NoError(w, l.Do(w.Context(), func(ctx context.Context, g *lock.Grant) error {
			return g.Release(ctx) // whose end this very call is
		}))
		require.Zero(w, w.nodes())

		require.PanicsWithValue(w, "f's own", func() {
			_ = l.Do(w.Context(), func(context.Context, *lock.Grant) error { panic("f's own") })
		})
		require.Zero(w, w.nodes(), "a panic of the function releases too")

		err = l.Do(w.Context(), func(ctx context.Context, g *lock.Grant) error {
			require.NoError(w, h.Delete(w.Context(), g.Path(), -1)) // not in ctx, which ends by it, maybe before the answer
			bubble.Within(w, time.Second, ctx.Done())
			require.ErrorIs(w, context.Cause(ctx), session.ErrDeleted)
			return nil
		})
		require.ErrorIs(w, err, session.ErrLost)
	})
}

func TestStandingAndContenders(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a, b := w.lock(w.Host("a"), lock.WithData([]byte("I am a"))), w.lock(w.Host("b"))
		places := b.Standing(w.Context())
		require.Equal(w, lock.Standing{}, bubble.Within(w, time.Second, places))
		lines := b.Observe(w.Context())
		require.Empty(w, bubble.Within(w, time.Second, lines))
		g := w.held(a)
		w.queued(b)
		require.Equal(w, lock.Standing{Phase: lock.Queued, Ahead: 1}, bubble.Within(w, time.Second, places))
		line, err := b.Contenders(w.Context())
		require.NoError(w, err)
		require.Len(w, line, 2)
		require.Equal(w, g.Path(), line[0].Path)
		require.Equal(w, g.Token(), line[0].Token)
		require.Equal(w, "I am a", string(line[0].Data))
		require.True(w, line[0].Holding)
		require.False(w, line[1].Holding)
		require.Equal(w, line, bubble.Within(w, time.Second, lines))
		require.NoError(w, g.Release(w.Context()))
		won := bubble.Within(w, time.Second, b.Acquired())
		synctest.Wait()
		require.Equal(w, lock.Standing{Phase: lock.Held}, bubble.Within(w, time.Second, places))
		require.NoError(w, won.Release(w.Context()))
		require.NoError(w, b.Close(w.Context()))
		bubble.Closes(w, lines)
		bubble.Closes(w, places)
	})
}

// B18: a closed session answers at once.
func TestB18_AClosedSessionIsAnErrorAndNeverAHang(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		l := w.lock(h)
		waiting := make(chan error)
		blocker := w.lock(w.Host("b"))
		w.held(blocker)
		go func() { _, err := l.Lock(context.Background()); waiting <- err }()
		synctest.Wait()
		require.NoError(w, h.Close(w.Context()))
		require.ErrorIs(w, bubble.Within(w, time.Second, waiting), session.ErrClosed)
		bubble.Within(w, time.Second, l.Done())
		require.ErrorIs(w, l.Err(), session.ErrClosed)
		_, err := l.Lock(w.Context())
		require.ErrorIs(w, err, session.ErrClosed)
		l.Acquire()
		require.NoError(w, l.Release(w.Context()))
		require.NoError(w, l.Close(w.Context()))
		_, err = lock.New(h.Session, path)
		require.ErrorIs(w, err, session.ErrClosed)
		require.Equal(w, 1, w.nodes(), "the waiter's znode went with its session")
	})
}

// B19 of the herd, invariant I8: one release wakes one waiter, whatever the length of the line.
func TestAReleaseWakesOneWaiter(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		head := w.lock(w.Host("head"))
		g := w.held(head)
		hosts := []*bubble.Host{w.Host("a"), w.Host("b"), w.Host("c")}
		var line []*lock.Lock
		for i := range 100 {
			l := w.lock(hosts[i%len(hosts)])
			l.Acquire()
			line = append(line, l)
			synctest.Wait()
		}
		w.Server.ClearJournal()
		require.NoError(w, g.Release(w.Context()))
		bubble.Within(w, time.Second, line[0].Acquired())
		synctest.Wait()
		requests, events := w.traffic()
		require.LessOrEqual(w, requests, 2, "the deletion, and a listing at most")
		require.LessOrEqual(w, events, 2, "the releaser's own watch and its successor's")
	})
}

// The uncontended cycle costs four requests.
func TestAnUncontendedCycleIsFourRequestsAtMost(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l := w.lock(w.Host("a"))
		require.NoError(w, w.held(l).Release(w.Context()))
		synctest.Wait()
		w.Server.ClearJournal()
		require.NoError(w, w.held(l).Release(w.Context()))
		synctest.Wait()
		var ops []string
		for _, r := range w.Server.Journal() {
			if r.Op != zktest.OpPing && r.Op != zktest.OpSync {
				ops = append(ops, r.Op.String())
			}
		}
		require.Equal(w, []string{"create2", "getChildren2"}, ops[:2])
		if len(ops) == 3 { // released before the read was sent
			require.Equal(w, "delete", ops[2])
			return
		}
		require.ElementsMatch(w, []string{"getData", "delete"}, ops[2:], "in whatever order")
	})
}

// B38: a grant that ends before it is received is withdrawn.
func TestB38_AGrantThatEndsUnreceivedIsWithdrawn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		a := w.lock(ha)
		a.Acquire()
		synctest.Wait() // it is on offer
		w.Server.Expire(ha.Status().SessionID)
		time.Sleep(10 * time.Second)
		g := bubble.Within(w, time.Second, a.Acquired())
		require.NoError(w, g.Err())
		require.Equal(w, ha.Status().SessionID, g.Sequencer().SessionID)
		require.NoError(w, a.Release(w.Context()))
		w.queued(a)
		require.NoError(w, a.Release(w.Context()))
		bubble.Never(w, a.Acquired(), "a released grant on offer")
	})
}
