// An exclusive lock's life: its calls, giving up, and the ends that are no loss. Losses are in
// test/losses, and the machine's decisions in recipes/internal/contend.

package lock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A release, or a Close, that was carried out before succeeds in a context that has ended.
// ObserveStatus reports the position. (Observe is in TestEveryLayout.)
func TestLockAndRelease(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		l := newLock(w.Host("a"))
		places := l.ObserveStatus(w.Context())
		require.Equal(w, lock.Status{}, bubble.Within(w, time.Second, places))
		first := held(w, l)
		require.True(w, first.Valid())
		require.NoError(w, first.Err())
		require.Equal(w, 1, nodes(w, path))
		require.NoError(w, first.Release(w.Context()))
		require.ErrorIs(w, first.Err(), session.ErrReleased)
		require.False(w, first.Valid())
		require.ErrorIs(w, context.Cause(first.Context()), session.ErrReleased)
		require.Zero(w, nodes(w, path))

		crashed := held(w, l)
		require.Equal(w, lock.Status{State: lock.Holding}, bubble.Within(w, time.Second, places))
		l.Crash("a bug")
		bubble.Within(w, time.Second, crashed.Done())
		time.Sleep(time.Minute)
		require.Equal(w, lock.Status{}, bubble.Now(w, places))

		second := held(w, l)
		require.Greater(w, second.Token(), first.Token())
		next := queued(newLock(w.Host("b")))
		require.Equal(w, lock.Status{State: lock.Waiting, Ahead: 1}, bubble.Within(w, time.Second, next.ObserveStatus(w.Context())))
		require.NoError(w, next.Close(w.Context()))
		require.NoError(w, l.Close(w.Context()))
		require.Equal(w, lock.Status{State: lock.Stopped}, bubble.Now(w, places))
		bubble.Closes(w, places)
		require.ErrorIs(w, second.Err(), session.ErrClosed)
		require.ErrorIs(w, second.Err(), session.ErrLost)
		require.ErrorIs(w, l.Err(), session.ErrClosed)
		require.Zero(w, nodes(w, path))
		for range 50 {
			require.NoError(w, first.Release(ended()), "it is idempotent")
			require.NoError(w, l.Close(ended()))
		}
	})
}

// B17, B19: a try is answered at once, by ZooKeeper's order; a context bounds the wait. Neither
// leaves anything, and no grant comes of it later.
func TestB17_B19_ATryAndABoundedWaitLeaveNothing(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		a, b := newLock(w.Host("a")), newLock(w.Host("b"))
		g := must(a.TryLock(w.Context()))
		began := time.Now()
		for _, l := range []*lock.Lock{a, b} {
			require.ErrorIs(w, errOf(l.TryLock(w.Context())), lock.ErrHeld)
		}
		require.Zero(w, time.Since(began))
		_ = gaveUp(w, b, 3*time.Second)
		require.Equal(w, 3*time.Second, time.Since(began))
		synctest.Wait()
		require.Equal(w, 1, nodes(w, path))
		require.NoError(w, g.Release(w.Context()))
		synctest.Wait()
		require.Zero(w, nodes(w, path))
		require.NoError(w, must(b.TryLock(w.Context())).Release(w.Context()))
	})
}

// B26: a thousand goroutines on one instance exclude each other, with one znode.
func TestB26_ManyGoroutinesOneZnode(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		l := newLock(w.Host("a"))
		var wg sync.WaitGroup
		holders, most := 0, 0
		for range 1000 {
			wg.Go(func() {
				err := l.Do(w.Context(), func(context.Context, *lock.Grant) error {
					holders++ // the lock is all that prevents a race
					defer func() { holders-- }()
					most = max(most, nodes(w, path), holders)
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
		require.Zero(w, nodes(w, path))
	})
}

// possession is a grant of a lock or of several.
type possession interface {
	Context() context.Context
	Path() string
	Release(ctx context.Context) error
}

func TestDo(t *testing.T) {
	eachRow(t, map[string]bool{"lock": false, "multi": true}, func(w *bubble.World, several bool) {
		h := w.Host("a")
		m, locks := multi(h, path, path+"/m")
		l := locks[0]
		do := func(ctx context.Context, f func(context.Context, possession) error) error {
			if several {
				return m.Do(ctx, func(ctx context.Context, g *lock.MultiGrant) error { return f(ctx, g) })
			}
			return l.Do(ctx, func(ctx context.Context, g *lock.Grant) error { return f(ctx, g) })
		}
		boom := errors.New("boom")
		later := w.Context()
		err := do(w.Context(), func(ctx context.Context, g possession) error {
			require.NoError(w, ctx.Err())
			_, err := l.Lock(ctx)
			require.ErrorIs(w, err, lock.ErrDeadlock)
			require.ErrorIs(w, errOf(newLock(w.Host("b")).TryLock(g.Context())), lock.ErrDeadlock, "through another session too")
			overlapping, _ := multi(h, "/m/0", path)
			require.ErrorIs(w, errOf(overlapping.Lock(ctx)), lock.ErrDeadlock)
			require.NotContains(w, w.Server.Dump(), "/m/0", "refused before anything is asked for")
			later = context.WithoutCancel(ctx)
			return boom
		})
		require.ErrorIs(w, err, boom)
		require.Zero(w, nodes(w, path))

		require.NoError(w, do(later, func(ctx context.Context, g possession) error { // the grant of later has ended: no deadlock
			return g.Release(ctx) // which ends ctx, too
		}))
		require.Zero(w, nodes(w, path))

		require.PanicsWithValue(w, "f's own", func() {
			_ = do(w.Context(), func(context.Context, possession) error { panic("f's own") })
		})
		require.Zero(w, nodes(w, path), "a panic of the function releases too")

		err = do(w.Context(), func(ctx context.Context, g possession) error {
			require.NoError(w, h.Delete(w.Context(), g.Path(), -1)) // ctx would end, perhaps before the answer
			bubble.Within(w, time.Second, ctx.Done())
			require.ErrorIs(w, context.Cause(ctx), session.ErrDeleted)
			return nil
		})
		require.ErrorIs(w, err, session.ErrLost)
		time.Sleep(time.Second) // the other parts of a lost whole are released in the background
		require.Zero(w, nodes(w, path))
	})
}

// A Release after one whose context ended waits for the same deletion.
func TestAReleaseBehindOneThatGaveUp(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		l := newLock(h)
		granted(w, l)
		heal := h.Machine.Partition()
		short, cancel := context.WithTimeoutCause(w.Context(), time.Second, errors.New("too long"))
		defer cancel()
		require.ErrorContains(w, l.Withdraw(short), "too long")
		second := bubble.Begin(func() error { return l.Withdraw(w.Context()) })
		bubble.Never(w, second, "the znode exists")
		require.Equal(w, 1, nodes(w, path))
		heal()
		require.NoError(w, bubble.Within(w, time.Minute, second))
		require.Zero(w, nodes(w, path))
	})
}

// A waiter that gives up leaves no watch on the contender before it, which may hold for weeks.
func TestAWaiterThatGaveUpLeavesNoWatch(t *testing.T) {
	eachRow(t, map[string]builder{"queue": newLock, "simple": simple}, func(w *bubble.World, build builder) {
		h := w.Host("waiter")
		g, l := held(w, build(w.Host("holder"))), build(h)
		for range 3 {
			waits := bubble.Begin(func() error { return gaveUp(w, l, time.Second/2) })
			require.NotZero(w, kept(w, h).Watches)
			bubble.Within(w, time.Second, waits)
			require.Zero(w, kept(w, h).Watches)
		}
		waits := bubble.Begin(func() *lock.Grant { return held(w, l) })
		synctest.Wait()
		require.NoError(w, g.Release(w.Context()))
		require.NoError(w, bubble.Within(w, time.Second, waits).Release(w.Context()))
		require.Zero(w, kept(w, h).Watches)
	})
}

func TestAGrantDoesNotWaitForItsFirstRead(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, rival := w.Host("a"), w.Host("b")
		w.Cleanup(fate(w, h, zktest.Delay(time.Second), is(zktest.OpGetData)))
		l := newLock(h)
		for range 3 {
			began := time.Now()
			g := held(w, l)
			require.Zero(w, time.Since(began))
			stat, exists, err := rival.Exists(w.Context(), g.Path())
			require.NoError(w, err)
			require.True(w, exists)
			require.Equal(w, stat.Czxid, g.Token(), "the token is the Czxid")
			require.Equal(w, h.Status().SessionID, stat.EphemeralOwner)
			time.Sleep(500 * time.Millisecond)
			require.NoError(w, g.Release(w.Context()))
			require.LessOrEqual(w, time.Since(began), unwatched+time.Second, "nor does the release, but for the server, which answers in order")
		}
		synctest.Wait()
		require.Zero(w, nodes(w, path))
	})
}

// A grant whose znode may not be read ends, since nothing would tell of its deletion. A standing
// intent ends the lock, since its next grant would end likewise.
func TestAGrantThatCannotBeReadEnds(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		require.NoError(w, w.Host("b").EnsurePath(w.Context(), path))
		h := w.Host("a", session.WithACL(session.AnyoneACL(session.PermAll&^session.PermRead)...))
		g, standing := held(w, newLock(h)), newLock(h)
		bubble.Within(w, time.Second, g.Done())
		standing.Acquire()
		bubble.Within(w, time.Second, standing.Done())
		require.ErrorIs(w, g.Err(), session.ErrLost)
		for _, err := range []error{g.Err(), g.Release(w.Context()), standing.Err()} {
			require.ErrorIs(w, err, session.ErrNoAuth)
		}
		synctest.Wait()
		require.Zero(w, nodes(w, path))
	})
}

// A lock with a delay keeps a record of who holds. If it may not be written, Lock says so.
func TestARecordThatMayNotBeWrittenIsAnError(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		_, err := h.Create(w.Context(), path+"/held", []byte("1"), session.Parents(), session.WithNodeACL(session.AnyoneACL(session.PermRead)...))
		require.NoError(w, err)
		_, err = delayed(h).Lock(w.Context())
		require.ErrorIs(w, err, session.ErrNoAuth)
		synctest.Wait()
		require.Zero(w, nodes(w, path))
	})
}
