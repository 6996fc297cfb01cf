package lock_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
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

func TestCloseAfterAnEpochThatEndedDuringADeletion(t *testing.T) {
	t.Parallel()
	for range 30 {
		inBubble(t, func(w *world) {
			h := w.Host("a")
			a := w.lock(h)
			g := w.held(a)
			heal := h.Machine.Partition()
			ctx, cancel := context.WithTimeout(w.Context(), 100*time.Millisecond)
			require.ErrorIs(w, g.Release(ctx), context.DeadlineExceeded)
			cancel()
			time.Sleep(20 * time.Second)
			heal()
			time.Sleep(20 * time.Second)
			ctx, cancel = context.WithTimeout(w.Context(), time.Minute)
			defer cancel()
			require.NoError(w, a.Close(ctx))
		})
	}
}

// I9: whatever the actor suffers meanwhile, an end is reported when ZooKeeper has confirmed it, not
// before.
func TestAnEndIsReportedWhenItIsConfirmed(t *testing.T) {
	t.Parallel()
	ends := map[string]func(w *world, l *lock.Lock, g *lock.Grant) error{
		"release of a grant":  func(w *world, _ *lock.Lock, g *lock.Grant) error { return g.Release(w.Context()) },
		"release of the lock": func(w *world, l *lock.Lock, _ *lock.Grant) error { return l.Release(w.Context()) },
		"close":               func(w *world, l *lock.Lock, _ *lock.Grant) error { return l.Close(w.Context()) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, crashFirst := range []bool{false, true} {
				inBubble(t, func(w *world) {
					h := w.Host("a")
					a := w.lock(h)
					g := w.granted(a)
					hear := w.deaf(h, zktest.Fail(zktest.ErrNoAuth))
					if crashFirst && name != "release of a grant" { // a crash ends the grant: there is nothing to release then
						a.Crash("before")
					}
					ended := make(chan error, 1)
					go func() { ended <- end(w, a, g) }()
					time.Sleep(time.Second)
					a.Crash("during")
					time.Sleep(time.Minute)
					select {
					case err := <-ended:
						w.Fatalf("reported (%v) though it stands:\n%s", err, w.Server.Dump())
					default:
					}
					hear()
					require.NoError(w, bubble.Within(w, time.Minute, ended))
				})
			}
		})
	}
}

func TestAWaiterThatIsReleasedDuringARecoveryIsGone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		a := w.lock(h)
		w.held(w.lock(w.Host("b")))
		w.queued(a)
		defer w.deaf(h, zktest.Delay(time.Second))()
		a.Crash("a bug")
		require.NoError(w, a.Release(w.Context()))
		require.Equal(w, 1, w.nodes())
	})
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

// Rule 9: constructors do no I/O, and what is nil is named.
func TestConstructorsDoNoIO(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		dials := 0
		s, err := session.New(w.Server.Hosts(), session.WithDialer(func(context.Context, string, string) (net.Conn, error) {
			dials++
			return nil, errors.New("not now")
		}))
		require.NoError(w, err)
		l, err := lock.New(s, path)
		require.NoError(w, err)
		_, err = lock.New(s, path, nil)
		require.ErrorContains(w, err, "opts[0]")
		require.ErrorContains(w, l.Do(w.Context(), nil), "f: nil")
		time.Sleep(time.Minute)
		require.Zero(w, dials)
		require.NoError(w, s.Close(w.Context()))
		require.ErrorIs(w, l.Err(), session.ErrClosed)
		var oe *session.OpError
		require.ErrorAs(w, l.Err(), &oe)
	})
}
