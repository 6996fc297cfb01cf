// An exclusive lock's life: taking, trying, standing, giving up, and the ends that are no loss;
// that a grant does not wait for its first read, and what is refused. What is lost, and when, is in
// test/losses.

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

// What is done is done, whatever has become of the context that it was to be done in.
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

		second := w.held(l)
		require.Greater(w, second.Token(), first.Token())
		require.NoError(w, l.Close(w.Context()))
		require.ErrorIs(w, second.Err(), session.ErrClosed)
		require.ErrorIs(w, second.Err(), session.ErrLost)
		require.ErrorIs(w, l.Err(), session.ErrClosed)
		require.Zero(w, w.nodes())
		for range 50 {
			require.NoError(w, first.Release(w.ended()), "it is idempotent")
			require.NoError(w, l.Close(w.ended()))
		}
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

// B17, B19: the verdict of a try comes from ZooKeeper's order, at once; a context bounds the wait.
// Neither leaves anything, and no grant comes of it later.
func TestB17_B19_ATryAndABoundedWaitLeaveNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a, b := w.lock(w.Host("a")), w.lock(w.Host("b"))
		g, err := a.TryLock(w.Context())
		require.NoError(w, err)
		began := time.Now()
		for _, l := range []*lock.Lock{a, b} {
			_, err = l.TryLock(w.Context())
			require.ErrorIs(w, err, lock.ErrHeld)
		}
		require.Zero(w, time.Since(began))
		ctx, cancel := context.WithTimeout(w.Context(), 3*time.Second)
		defer cancel()
		_, err = b.Lock(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Equal(w, 3*time.Second, time.Since(began))
		synctest.Wait()
		require.Equal(w, 1, w.nodes())
		require.NoError(w, g.Release(w.Context()))
		synctest.Wait()
		require.Zero(w, w.nodes())
		g, err = b.TryLock(w.Context())
		require.NoError(w, err)
		require.NoError(w, g.Release(w.Context()))
	})
}

// B26: a thousand goroutines on one instance exclude each other, with one znode.
func TestB26_ManyGoroutinesOneZnode(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l := w.lock(w.Host("a"))
		var wg sync.WaitGroup
		holders, most := 0, 0
		for range 1000 {
			wg.Go(func() {
				err := l.Do(w.Context(), func(context.Context, *lock.Grant) error {
					holders++ // safe: that is the point
					most = max(most, w.nodes())
					if holders != 1 {
						return errors.New("two hold")
					}
					holders--
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

// granted is what Do hands to the function, of a lock or of several.
type granted interface {
	Context() context.Context
	Path() string
	Release(ctx context.Context) error
}

func TestDo(t *testing.T) {
	t.Parallel()
	for _, multi := range []bool{false, true} {
		inBubble(t, func(w *world) {
			h := w.Host("a")
			m, locks := w.multi(h, path, path+"/m")
			l := locks[0]
			do := func(ctx context.Context, f func(context.Context, granted) error) error {
				if multi {
					return m.Do(ctx, func(ctx context.Context, g *lock.MultiGrant) error { return f(ctx, g) })
				}
				return l.Do(ctx, func(ctx context.Context, g *lock.Grant) error { return f(ctx, g) })
			}
			boom := errors.New("boom")
			later := w.Context()
			err := do(w.Context(), func(ctx context.Context, g granted) error {
				require.NoError(w, ctx.Err())
				_, err := l.Lock(ctx)
				require.ErrorIs(w, err, lock.ErrDeadlock)
				_, err = w.lock(w.Host("b")).TryLock(g.Context())
				require.ErrorIs(w, err, lock.ErrDeadlock, "through another session too")
				overlapping, _ := w.multi(h, "/m/0", path)
				_, err = overlapping.Lock(ctx)
				require.ErrorIs(w, err, lock.ErrDeadlock)
				require.NotContains(w, w.Server.Dump(), "/m/0", "refused before anything is asked for")
				later = context.WithoutCancel(ctx)
				return boom
			})
			require.ErrorIs(w, err, boom)
			require.Zero(w, w.nodes())

			require.NoError(w, do(later, func(ctx context.Context, g granted) error { // a deadlock is about grants that stand
				return g.Release(ctx) // whose end this very call is
			}))
			require.Zero(w, w.nodes())

			require.PanicsWithValue(w, "f's own", func() {
				_ = do(w.Context(), func(context.Context, granted) error { panic("f's own") })
			})
			require.Zero(w, w.nodes(), "a panic of the function releases too")

			err = do(w.Context(), func(ctx context.Context, g granted) error {
				require.NoError(w, h.Delete(w.Context(), g.Path(), -1)) // not in ctx, which ends by it, maybe before the answer
				bubble.Within(w, time.Second, ctx.Done())
				require.ErrorIs(w, context.Cause(ctx), session.ErrDeleted)
				return nil
			})
			require.ErrorIs(w, err, session.ErrLost)
			time.Sleep(time.Second) // what is left of a lost whole is given up behind Do's back
			require.Zero(w, w.nodes())
		})
	}
}

// Where it stands is told as it changes, and who stands there: see TestEveryLayout.
func TestStanding(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a, b := w.lock(w.Host("a")), w.lock(w.Host("b"))
		places := b.Standing(w.Context())
		require.Equal(w, lock.Standing{}, bubble.Within(w, time.Second, places))
		g := w.held(a)
		w.queued(b)
		require.Equal(w, lock.Standing{Phase: lock.Queued, Ahead: 1}, bubble.Within(w, time.Second, places))
		a.Crash("a bug")
		bubble.Within(w, time.Second, g.Done())
		bubble.Within(w, time.Second, b.Acquired())
		time.Sleep(time.Minute)
		require.Equal(w, lock.Standing{}, bubble.Now(w, a.Standing(w.Context())))
		require.Equal(w, lock.Standing{Phase: lock.Held}, bubble.Within(w, time.Second, places))
		require.NoError(w, b.Close(w.Context()))
		bubble.Closes(w, places)
		require.Zero(w, w.nodes())
	})
}

// A Release behind one that gave up waits for the same deletion.
func TestAReleaseBehindOneThatGaveUp(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		l := w.lock(h)
		w.granted(l)
		heal := h.Machine.Partition()
		short, cancel := context.WithTimeoutCause(w.Context(), time.Second, errors.New("too long"))
		defer cancel()
		require.ErrorContains(w, l.Release(short), "too long")
		second := bubble.Begin(func() error { return l.Release(w.Context()) })
		bubble.Never(w, second, "the znode stands")
		require.Equal(w, 1, w.nodes())
		heal()
		require.NoError(w, bubble.Within(w, time.Minute, second))
		require.Zero(w, w.nodes())
	})
}

// B18: a closed session answers at once.
func TestB18_AClosedSessionIsAnErrorAndNeverAHang(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		l := w.lock(h)
		w.held(w.lock(w.Host("b")))
		waiting := bubble.Begin(func() error { _, err := l.Lock(context.Background()); return err })
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
		require.Equal(w, 1, w.nodes(), "the waiter's znode went with its session")
	})
}

// B38: a grant that ends before it is received is withdrawn.
func TestB38_AGrantThatEndsUnreceivedIsWithdrawn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		a := w.queued(w.lock(ha)) // it is on offer
		w.Server.Expire(ha.Status().SessionID)
		time.Sleep(10 * time.Second)
		g := bubble.Within(w, time.Second, a.Acquired())
		require.NoError(w, g.Err())
		require.Equal(w, ha.Status().SessionID, g.Sequencer().SessionID)
		require.NoError(w, a.Release(w.Context()))
		require.NoError(w, w.queued(a).Release(w.Context()))
		bubble.Never(w, a.Acquired(), "a released grant on offer")
	})
}

// B03: a caller who gives up while the answer is being looked for leaves nothing.
func TestB03_ACallerWhoGivesUpLeavesNothing(t *testing.T) {
	t.Parallel()
	for k, met := 1, true; met; k++ {
		inBubble(t, func(w *world) {
			ha := w.Host("a")
			a, b := w.lock(ha), w.lock(w.Host("b"))
			reached := w.Kth(ha.Session, k, zktest.CutAfter)
			ctx, cancel := context.WithCancel(w.Context())
			done := bubble.Begin(func() error { _, err := a.Lock(ctx); return err })
			synctest.Wait()
			cancel()
			if err := bubble.Within(w, time.Minute, done); err == nil {
				require.NoError(w, a.Close(w.Context()))
			} else {
				require.ErrorIs(w, err, context.Canceled)
			}
			require.NoError(w, w.held(b).Release(w.Context()))
			time.Sleep(time.Second)
			require.Zero(w, w.nodes(), "k=%d", k)
			met = reached()
		})
	}
}

// B23: a predecessor that goes between the listing and the watch is no lost wake-up.
func TestB23_APredecessorThatGoesBetweenListingAndWatch(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		hb := w.Host("b")
		g, b := w.held(w.lock(w.Host("a"))), w.lock(hb)
		remove := w.slowly(hb)
		w.queued(b)
		require.NoError(w, g.Release(w.Context()))
		remove()
		bubble.Within(w, 5*time.Second, b.Acquired())
	})
}

// A waiter that gives up takes the watch of whoever stood before it back: that one may hold for
// weeks.
func TestAWaiterThatGaveUpLeavesNoWatch(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]lock.Option{"line": nil, "simple": {lock.WithLayout(lock.Simple)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				h := w.Host("waiter")
				g, l := w.held(w.lock(w.Host("holder"), opts...)), w.lock(h, opts...)
				wait := func(ctx context.Context) <-chan error {
					return bubble.Begin(func() error {
						mine, err := l.Lock(ctx)
						if err == nil {
							err = mine.Release(ctx)
						}
						return err
					})
				}
				for range 3 {
					ctx, cancel := context.WithCancel(w.Context())
					refused := wait(ctx)
					require.NotZero(w, w.kept(h).Watches)
					cancel()
					require.ErrorIs(w, bubble.Within(w, time.Second, refused), context.Canceled)
					require.Zero(w, w.kept(h).Watches)
				}
				waits := wait(w.Context())
				synctest.Wait()
				require.NoError(w, g.Release(w.Context()))
				require.NoError(w, bubble.Within(w, time.Second, waits))
				require.Zero(w, w.kept(h).Watches)
			})
		})
	}
}

// slowly lets a host's reads take a second.
func (w *world) slowly(h *bubble.Host) (remove func()) {
	id := h.Status().SessionID
	return w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID == id && r.Op == zktest.OpGetData {
			return zktest.Delay(time.Second)
		}
		return zktest.Pass
	})
}

func TestAGrantDoesNotWaitForItsFirstRead(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h, rival := w.Host("a"), w.Host("b")
		w.Cleanup(w.slowly(h))
		l := w.lock(h)
		for range 3 {
			began := time.Now()
			g := w.held(l)
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
		require.Zero(w, w.nodes())
	})
}

// Nobody would tell when such a znode goes, so nothing is held by it for longer than that takes to
// find out.
func TestAGrantThatCannotBeReadEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		require.NoError(w, w.Host("b").EnsurePath(w.Context(), path))
		h := w.Host("a", session.WithACL(session.AnyoneACL(session.PermAll&^session.PermRead)...))
		g := w.held(w.lock(h))
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrLost)
		require.ErrorIs(w, g.Err(), session.ErrNoAuth)
		require.ErrorIs(w, g.Release(w.Context()), session.ErrNoAuth)

		standing := w.lock(h)
		standing.Acquire()
		bubble.Within(w, time.Second, standing.Done())
		require.ErrorIs(w, standing.Err(), session.ErrNoAuth, "the next one would be no better")
		synctest.Wait()
		require.Zero(w, w.nodes())
	})
}

// What may not be made is an error, to the caller and to the standing intent, and not a wait.
func TestAPersistentRefusalIsReported(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]string{"the place": path, "the record of who holds": path + "/held"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				h := w.Host("a")
				_, err := h.Create(w.Context(), refused, []byte("1"), session.Parents(), session.NodeACL(session.AnyoneACL(session.PermRead)...))
				require.NoError(w, err)
				_, err = w.delayed(h).Lock(w.Context())
				require.ErrorIs(w, err, session.ErrNoAuth)
				var oe *session.OpError
				require.ErrorAs(w, err, &oe)
				require.Equal(w, path, oe.Path)
				standing := w.queued(w.delayed(h))
				bubble.Within(w, time.Minute, standing.Done())
				require.ErrorIs(w, standing.Err(), session.ErrNoAuth)
				require.Zero(w, w.nodes())
			})
		})
	}
}
