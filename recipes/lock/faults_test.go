package lock_test

import (
	"context"
	"fmt"
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

// B02, B03, B04, B14, B39, B75: whichever reply or request of a whole cycle is lost, the outcome is
// right and nothing is left behind.
func TestB03_B04_B14_LostReplies(t *testing.T) {
	t.Parallel()
	inEachFate(t, func(w *world, k int, strike func(s *session.Session)) {
		ha, hb := w.Host("a"), w.Host("b")
		a, b := w.lock(ha), w.lock(hb)
		w.survivesLoss(k, a, b, func() { strike(ha.Session) }, session.SetOp(path, []byte("x"), -1))
	})
}

// B03: the same when the caller gives up while the answer is being looked for.
func TestB03_ACallerWhoGivesUpLeavesNothing(t *testing.T) {
	t.Parallel()
	for k, met := 1, true; met; k++ {
		inBubble(t, func(w *world) {
			ha := w.Host("a")
			a, b := w.lock(ha), w.lock(w.Host("b"))
			reached := w.Kth(ha.Session, k, zktest.CutAfter)
			ctx, cancel := context.WithCancel(w.Context())
			done := make(chan error)
			go func() { _, err := a.Lock(ctx); done <- err }()
			synctest.Wait()
			cancel()
			if err := bubble.Within(w, time.Minute, done); err == nil {
				require.NoError(w, a.Close(w.Context()))
			} else {
				require.ErrorIs(w, err, context.Canceled)
			}
			g, err := b.Lock(w.Context())
			require.NoError(w, err)
			require.NoError(w, g.Release(w.Context()))
			time.Sleep(time.Second)
			require.Zero(w, w.nodes(), "k=%d", k)
			met = reached()
		})
	}
}

// B08: ten thousand tries under flapping connections leave nothing.
func TestB08_TriesUnderFlappingLeaveNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		a := w.lock(ha)
		g := w.held(w.lock(w.Host("b")))
		flapping, stop := context.WithCancel(w.Context())
		var flapper sync.WaitGroup
		flapper.Go(func() {
			for flapping.Err() == nil {
				w.Server.Disconnect(ha.Status().SessionID)
				time.Sleep(37 * time.Millisecond)
			}
		})
		for range 10_000 {
			_, err := a.TryLock(w.Context())
			require.ErrorIs(w, err, lock.ErrHeld)
		}
		stop()
		flapper.Wait()
		require.True(w, g.Valid())
		require.NoError(w, g.Release(w.Context()))
		require.NoError(w, a.Close(w.Context()))
		require.Zero(w, w.nodes())
	})
}

// B21, B22: foreign children are ignored: no panic, no orphan, nobody waits for them. Those of
// other libraries are waited for.
func TestB21_B22_ForeignChildren(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		a := w.lock(h)
		for _, name := range []string{"foo", "_c_x", "_c_", "lock-", "lock-12", "lock-0000000000x", "-", "0000000000", "lock-99999999999"} {
			_, err := h.Create(w.Context(), path+"/"+name, nil, session.Parents())
			require.NoError(w, err)
		}
		require.NoError(w, w.held(a).Release(w.Context()))
		for _, name := range []string{"0123456789abcdef0123456789abcdef__lock__0000000000", "x-72057594037927936-0000000000", "lock-0000000000"} {
			_, err := h.Create(w.Context(), path+"/"+name, nil)
			require.NoError(w, err)
			_, err = a.TryLock(w.Context())
			require.ErrorIs(w, err, lock.ErrHeld, name)
			require.NoError(w, h.Delete(w.Context(), path+"/"+name, -1))
		}
	})
}

// B20: around the end of the sequence numbers, order is that of creation.
func TestB20_TheEndOfTheSequenceNumbers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		_, err := h.Create(w.Context(), path, nil, session.Parents())
		require.NoError(w, err)
		require.NoError(w, w.Server.SetSequence(path, 2147483645))
		var locks []*lock.Lock
		for i := range 6 {
			l := w.lock(w.Host(fmt.Sprint("h", i)))
			w.queued(l)
			locks = append(locks, l)
		}
		var last int64
		for i, l := range locks {
			g := bubble.Within(w, time.Second, l.Acquired())
			require.Greater(w, g.Token(), last)
			last = g.Token()
			for _, later := range locks[i+1:] {
				bubble.Never(w, later.Acquired(), "two holders")
			}
			require.NoError(w, l.Release(w.Context()))
		}
	})
}

// B20, older servers wrap: the numbers of waiters are negative and print with a sign.
func TestB20_WrappedSequenceNumbers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		a := w.lock(h)
		for _, name := range []string{"lock-2147483647", "lock--2147483648", "lock--000000001"} {
			_, err := h.Create(w.Context(), path+"/"+name, nil, session.Parents())
			require.NoError(w, err)
			_, err = a.TryLock(w.Context())
			require.ErrorIs(w, err, lock.ErrHeld, name)
			require.NoError(w, h.Delete(w.Context(), path+"/"+name, -1))
		}
	})
}

// B23: a predecessor that goes between the listing and the watch is no lost wake-up.
func TestB23_APredecessorThatGoesBetweenListingAndWatch(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb := w.Host("a"), w.Host("b")
		a, b := w.lock(ha), w.lock(hb)
		g := w.held(a)
		id := hb.Status().SessionID
		remove := w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && r.Op == zktest.OpGetData && r.Path == g.Path() {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		w.queued(b)
		require.NoError(w, g.Release(w.Context()))
		remove()
		bubble.Within(w, 5*time.Second, b.Acquired())
	})
}

// B24: cycles leave no watches behind, here and at the server.
func TestB24_CyclesLeaveNoWatches(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		l := w.lock(h)
		for range 10_000 {
			require.NoError(w, w.held(l).Release(w.Context()))
		}
		info, ok := w.Server.Session(h.Status().SessionID)
		require.True(w, ok)
		require.Zero(w, info.Watches)
	})
}

func TestAPersistentRefusalIsReported(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		_, err := h.Create(w.Context(), path, nil, session.Parents(), session.NodeACL(session.AnyoneACL(session.PermRead)...))
		require.NoError(w, err)
		_, err = w.lock(h).Lock(w.Context())
		require.ErrorIs(w, err, session.ErrNoAuth)
		var oe *session.OpError
		require.ErrorAs(w, err, &oe)
		require.Equal(w, path, oe.Path)
		standing := w.lock(h)
		standing.Acquire()
		bubble.Within(w, time.Second, standing.Done())
		require.ErrorIs(w, standing.Err(), session.ErrNoAuth)
	})
}
