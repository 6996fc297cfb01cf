package lock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

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

// B20: around the end of the sequence numbers, order is that of creation, a downgraded reader's
// place too.
func TestB20_EachKindAtTheEndOfTheSequenceNumbers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		_, err := h.Create(w.Context(), path, nil, session.Parents())
		require.NoError(w, err)
		require.NoError(w, w.Server.SetSequence(path, 2147483644))
		w1 := w.writer(w.Host("w1"))
		g := w.held(w1)
		var line []*lock.Lock
		for i := range 4 {
			l := w.writer(w.Host(fmt.Sprint("h", i)))
			if i%2 == 0 {
				l = w.reader(w.Host(fmt.Sprint("r", i)))
			}
			line = append(line, w.queued(l))
		}
		read, err := g.Downgrade(w.Context())
		require.NoError(w, err)
		bubble.Within(w, time.Second, line[0].Acquired())
		for _, l := range line[1:] {
			bubble.Never(w, l.Acquired(), "out of turn")
		}
		require.NoError(w, line[0].Release(w.Context()))
		bubble.Never(w, line[1].Acquired(), "a writer beside the reader who stands where the writer stood")
		require.NoError(w, read.Release(w.Context()))
		for i, l := range line[1:] {
			bubble.Within(w, time.Second, l.Acquired())
			for _, later := range line[i+2:] {
				bubble.Never(w, later.Acquired(), "out of turn")
			}
			require.NoError(w, l.Release(w.Context()))
		}
		synctest.Wait()
		require.Zero(w, w.nodes())
	})
}
