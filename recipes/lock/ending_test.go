package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/zktest"
)

// deaf lets a session's deletions fail, or take their time, until it is told to stop.
func (w *world) deaf(h *bubble.Host, fate zktest.Verdict) (hear func()) {
	id := h.Status().SessionID
	return w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID == id && (r.Op == zktest.OpDelete || r.Op == zktest.OpMulti && changes(r)) {
			return fate
		}
		return zktest.Pass
	})
}

// changes tells a transaction from one that only checks.
func changes(r *zktest.Request) bool {
	for _, part := range r.Ops {
		if part.Op != zktest.OpCheck {
			return true
		}
	}
	return false
}

func TestStandingAfterAPanic(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a := w.lock(w.Host("a"))
		g := w.held(a)
		a.Crash("a bug")
		bubble.Within(w, time.Second, g.Done())
		time.Sleep(time.Minute)
		require.Zero(w, w.nodes())
		require.Equal(w, lock.Standing{}, bubble.Within(w, time.Second, a.Standing(w.Context())))
	})
}

func TestClosingAHeldLockIsOneRequest(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a := w.lock(w.Host("a"))
		w.granted(a)
		synctest.Wait()
		w.Server.ClearJournal()
		require.NoError(w, a.Close(w.Context()))
		journal := w.Server.Journal()
		require.Len(w, journal, 1)
		require.Equal(w, zktest.OpDelete, journal[0].Op)
	})
}

// What is done is done, whatever has become of the context that it was to be done in.
func TestAnEndedContextDoesNotUndoAnEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a := w.lock(w.Host("a"))
		g := w.held(a)
		ended, cancel := context.WithCancel(w.Context())
		cancel()
		require.NoError(w, g.Release(w.Context()))
		for range 50 {
			require.NoError(w, g.Release(ended))
		}
		require.NoError(w, a.Close(w.Context()))
		for range 50 {
			require.NoError(w, a.Close(ended))
		}
	})
}

func TestDeadlockIsAboutGrantsThatStand(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a, b := w.lock(w.Host("a")), w.lock(w.Host("b"))
		g := w.held(a)
		_, err := b.Lock(g.Context())
		require.ErrorIs(w, err, lock.ErrDeadlock, "through another session too")
		later := context.WithoutCancel(g.Context())
		require.NoError(w, g.Release(w.Context()))
		g, err = a.Lock(later)
		require.NoError(w, err)
		require.NoError(w, g.Release(w.Context()))
	})
}

func TestBreakWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin := w.Host("admin")
		g := w.held(w.lock(w.Host("a")))
		defer w.deaf(admin, zktest.CutAfter)()
		require.NoError(w, lock.Break(w.Context(), admin.Session, g.Path(), time.Second))
		bubble.Within(w, time.Second, g.Done())
	})
}
