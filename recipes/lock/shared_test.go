// Readers, writers and semaphores: upgrades and downgrades; a semaphore's limit, and how it
// changes. Whole lives are in life_test.go. Names of other libraries are in internal/znode, and who
// waits for which kind in recipes/internal/contend.

package lock_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestAnUpgradeIsRefusedAtOnce(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		r, r2, wr, other := reader(h), reader(h), writer(h), writer(w.Host("b"))
		require.NoError(w, r.Do(w.Context(), func(ctx context.Context, g *lock.Grant) error {
			began := time.Now()
			for _, l := range []*lock.Lock{wr, other} {
				_, err := l.Lock(ctx)
				require.ErrorIs(w, err, lock.ErrUpgrade)
				require.ErrorIs(w, errOf(l.TryLock(g.Context())), lock.ErrUpgrade)
				require.ErrorIs(w, l.Do(ctx, func(context.Context, *lock.Grant) error { panic("never") }), lock.ErrUpgrade)
			}
			for _, l := range []*lock.Lock{r, r2, newLock(h)} {
				_, err := l.Lock(ctx)
				require.ErrorIs(w, err, lock.ErrDeadlock, "that is no upgrade, and would wait for itself all the same once a writer is between")
			}
			require.Zero(w, time.Since(began))
			return nil
		}))
		require.NoError(w, wr.Do(w.Context(), func(ctx context.Context, _ *lock.Grant) error {
			for _, l := range []*lock.Lock{r, wr, other} {
				require.ErrorIs(w, errOf(l.Lock(ctx)), lock.ErrDeadlock)
			}
			return nil
		}))
		require.Zero(w, nodes(w, path))
	})
}

// A standing writer that goes on as a reader has not released: the next writer waits, of its own
// session too, though the first writer's znode is gone. A request to release is for the writer or
// for the reader. When the reader has released, the intent stands as a writer again.
func TestADowngradeOfAStandingIntent(t *testing.T) {
	eachRow(t, map[string]bool{"the next in another session": false, "in the same": true}, func(w *bubble.World, same bool) {
		h, admin := w.Host("a"), w.Host("b")
		l, next := writer(h, lock.WithData([]byte("mine"))), writer(admin)
		if same {
			next = writer(h)
		}
		wrote := granted(w, l)
		queued(next)
		require.NoError(w, by(admin.Session).Revoke(w.Context(), of(wrote)))
		bubble.Within(w, time.Second, wrote.Revoked())
		read := must(wrote.Downgrade(w.Context()))
		bubble.Never(w, l.Acquired(), "a second grant")
		require.Equal(w, "mine", string(must(l.Contenders(w.Context()))[0].Data))
		time.Sleep(time.Second)
		bubble.Never(w, next.Acquired(), "granted beside a reader")
		bubble.Never(w, read.Revoked(), "the reader was not asked")
		require.NoError(w, by(admin.Session).Revoke(w.Context(), of(read)))
		bubble.Within(w, time.Second, read.Revoked())
		require.NoError(w, read.Release(w.Context()))
		g := bubble.Within(w, time.Second, next.Acquired())
		require.Greater(w, g.Token(), read.Token())
		require.NoError(w, next.Withdraw(w.Context()))

		again := bubble.Within(w, time.Second, l.Acquired())
		require.Equal(w, fence.Exclusive, again.Sequencer().Mode)
		read = must(again.Downgrade(w.Context()))
		require.NoError(w, l.Withdraw(w.Context()))
		require.ErrorIs(w, read.Err(), session.ErrReleased)
		require.Zero(w, nodes(w, path))
	})
}

func TestDowngradeWithinDo(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		l := writer(w.Host("a"))
		boom := errors.New("boom")
		err := l.Do(w.Context(), func(ctx context.Context, g *lock.Grant) error {
			read := must(g.Downgrade(ctx)) // which ends ctx, too
			bubble.Within(w, time.Second, ctx.Done())
			require.ErrorIs(w, context.Cause(ctx), session.ErrReleased)
			require.True(w, read.Valid())
			return boom
		})
		require.ErrorIs(w, err, boom)
		require.NotErrorIs(w, err, session.ErrLost)
		require.Zero(w, nodes(w, path), "the read grant is released, too")

		err = l.Do(w.Context(), func(ctx context.Context, g *lock.Grant) error {
			read := must(g.Downgrade(ctx))
			require.NoError(w, w.Server.Znodes(w).Delete(read.Path()))
			bubble.Within(w, time.Second, read.Done())
			return nil
		})
		require.ErrorIs(w, err, session.ErrLost)
	})
}

func TestADowngradeThatCannotBe(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		for _, l := range []*lock.Lock{newLock(h), reader(h), newLock(h, lock.WithLayout(lock.Kazoo))} { // whose exclusive lock and write lock are one
			g := held(w, l)
			require.ErrorIs(w, errOf(g.Downgrade(w.Context())), session.ErrUnsupported)
			require.True(w, g.Valid(), "nothing has changed")
			require.NoError(w, g.Release(w.Context()))
		}
		l := writer(h)
		g := held(w, l)
		_, err := g.Downgrade(ended())
		require.ErrorIs(w, err, context.Canceled)
		require.True(w, g.Valid(), "nothing has changed")
		require.NoError(w, g.Release(w.Context()))
		require.ErrorIs(w, errOf(g.Downgrade(w.Context())), session.ErrLost, "it was released")

		for _, deleted := range []func(at string) error{w.Server.Znodes(w).Delete, func(at string) error { return h.Delete(w.Context(), at, -1) }} {
			g = held(w, l)
			next := queued(writer(h))
			require.NoError(w, deleted(g.Path()))
			_, err = g.Downgrade(w.Context())
			require.ErrorIs(w, err, session.ErrLost)
			require.ErrorIs(w, err, session.ErrDeleted)
			bubble.Within(w, time.Minute, next.Acquired(), "no contender is ahead")
			require.NoError(w, next.Close(w.Context()))
		}

		g = held(w, l)
		lift := w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpMulti && changes(r) {
				w.Server.Expire(r.SessionID)
			}
			return zktest.Pass
		})
		err = bubble.Within(w, time.Minute, bubble.Begin(func() error { _, err := g.Downgrade(w.Context()); return err }))
		lift()
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrExpired, "meanwhile")

		for range 100 { // two at a time, in any order
			g = held(w, l)
			var reads [2]*lock.Grant
			downgrade := func(i int) <-chan error {
				return bubble.Begin(func() (err error) { reads[i], err = g.Downgrade(w.Context()); return err })
			}
			first, second := downgrade(0), downgrade(1)
			errs := []error{bubble.Within(w, time.Minute, first), bubble.Within(w, time.Minute, second)}
			lost := slices.IndexFunc(errs, func(err error) bool { return errors.Is(err, session.ErrLost) })
			require.GreaterOrEqual(w, lost, 0)
			require.NoError(w, errs[1-lost], "one of the two")
			require.NoError(w, reads[1-lost].Release(w.Context()))
		}
		require.NoError(w, l.Close(w.Context()))
		require.Zero(w, nodes(w, path))
	})
}

// A caller that leaves gets no grant, and nothing is left.
func TestADowngradeWhoseCallerLeaves(t *testing.T) {
	rows := maps.Clone(bubble.Fates)
	rows["slow"] = zktest.Delay(2 * time.Second)
	eachRow(t, rows, func(w *bubble.World, verdict zktest.Verdict) {
		h := w.Host("a")
		l, waiting := writer(h), writer(w.Host("b"))
		g := held(w, l)
		queued(waiting)
		stop := fate(w, h, verdict, deletes)
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		read, err := g.Downgrade(ctx)
		stop()
		if err == nil { // the reconnection was quick
			require.NoError(w, read.Release(w.Context()))
		} else {
			require.ErrorIs(w, err, context.DeadlineExceeded)
		}
		bubble.Within(w, 20*time.Second, waiting.Acquired())
		time.Sleep(time.Minute)
		require.Equal(w, 1, nodes(w, path))
	})
}

// An observer of a semaphore sees which contenders hold, since when, and follows changes of the
// limit too. Contenders has the same, but does not know a grant's time once the holder was asked to
// release.
func TestObservingASemaphore(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		admin := w.Host("admin").Session
		a, b, c := semaphore(w.Host("a"), 1), semaphore(w.Host("b"), 1), semaphore(w.Host("c"), 1)
		states := c.Observe(w.Context())
		require.Empty(w, bubble.Within(w, time.Second, states).Contenders)
		holding := func() (all []bool, since []time.Time) {
			synctest.Wait()
			for _, c := range bubble.Within(w, time.Second, states).Contenders {
				all, since = append(all, c.Holding), append(since, c.Held.UTC())
			}
			return all, since
		}
		shows := func(want ...bool) {
			w.Helper()
			all, _ := holding()
			require.Equal(w, want, all)
		}
		first := time.Now().UTC()
		ga := held(w, a)
		shows(true)
		queued(b)
		queued(c)
		all, since := holding()
		require.Equal(w, []bool{true, false, false}, all)
		require.Equal(w, []time.Time{first, {}, {}}, since)
		time.Sleep(time.Minute)
		second := time.Now().UTC()
		setLimit(w, admin, 2)
		all, since = holding()
		require.Equal(w, []bool{true, true, false}, all)
		require.Equal(w, []time.Time{first, second, {}}, since)
		require.NoError(w, by(admin).Revoke(w.Context(), of(bubble.Within(w, time.Second, b.Acquired()))))
		bubble.Never(w, states, "a request to a holder says nothing of the next")
		require.Zero(w, must(c.Contenders(w.Context()))[1].Held, "the last write is not the grant")
		setLimit(w, admin, 3)
		shows(true, true, true)
		setLimit(w, admin, 1)
		require.NoError(w, ga.Release(w.Context()))
		shows(true, true) // beyond a lowered limit
		require.NoError(w, c.Close(w.Context()))
		bubble.Closes(w, states)
	})
}

// B30 [kazoo#429]: a try gets a free permit, also while others are being granted.
func TestB30_ATryGetsAFreePermit(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		const permits = 8
		defer w.Server.Intercept(bubble.Slowly(30))()
		won := make(chan error, permits)
		for i := range permits {
			l := semaphore(w.Host(string(rune('a'+i))), permits)
			go func() { _, err := l.TryLock(w.Context()); won <- err }()
		}
		for range permits {
			require.NoError(w, bubble.Within(w, time.Minute, won))
		}
		require.ErrorIs(w, errOf(semaphore(w.Host("last"), permits).TryLock(w.Context())), lock.ErrHeld)
		time.Sleep(time.Second)
		require.Equal(w, permits, nodes(w, path))
	})
}

// An exclusive lock waits for all holders of a semaphore, also if the last of them is of its own
// session and leaves first; and a semaphore waits for an exclusive lock.
func TestAnExclusiveLockBesideASemaphore(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, other := w.Host("a"), w.Host("b")
		first, second := held(w, semaphore(other, 3)), held(w, semaphore(h, 3))
		l := queued(newLock(h))
		next := semaphore(w.Host("c"), 3)
		queued(next)
		bubble.Never(w, next.Acquired(), "a permit behind an exclusive lock")
		require.NoError(w, second.Release(w.Context()))
		time.Sleep(time.Second)
		bubble.Never(w, l.Acquired(), "an exclusive lock beside a permit")
		require.NoError(w, first.Release(w.Context()))
		bubble.Within(w, time.Second, l.Acquired())
		bubble.Never(w, next.Acquired(), "a permit beside an exclusive lock")
		require.NoError(w, l.Withdraw(w.Context()))
		g := bubble.Within(w, time.Second, next.Acquired())
		require.ErrorIs(w, errOf(next.Lock(g.Context())), lock.ErrDeadlock)
	})
}

// The first instance sets the limit, and others have to agree with it once. From then on an
// instance follows changes.
func TestTheLimitIsAgreed(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		limit := func(n int) { setLimit(w, h.Session, n) }
		refused := func(l *lock.Lock, call func(*lock.Lock, context.Context) (*lock.Grant, error)) string {
			_, err := call(l, w.Context())
			require.ErrorIs(w, err, lock.ErrLimit)
			return err.Error()
		}
		three := semaphore(h, 3)
		require.NoError(w, held(w, three).Release(w.Context()))
		five := semaphore(h, 5)
		refused(five, (*lock.Lock).Lock)
		require.Contains(w, refused(five, (*lock.Lock).TryLock), "the semaphore's limit is another: it is 3, not 5")
		require.NoError(w, five.Err(), "a caller was refused; the instance goes on")
		statuses := five.ObserveStatus(w.Context())
		five.Acquire()
		bubble.Within(w, time.Second, five.Done())
		require.Equal(w, lock.Status{State: lock.Failed}, bubble.Now(w, statuses))
		bubble.Closes(w, statuses)
		require.ErrorIs(w, five.Err(), lock.ErrLimit)
		require.Zero(w, nodes(w, path))

		limit(5)
		three.Crash("a bug")
		require.NoError(w, held(w, three).Release(w.Context()), "it has agreed, and follows the change; a crash changes nothing")
		refused(semaphore(h, 3), (*lock.Lock).Lock)
		require.NoError(w, held(w, semaphore(h, 5, lock.WithWeight(5))).Release(w.Context()))
	})
}

// A limit that was read before refuses no request: it may have been raised since.
func TestALimitThatWasRaisedAgain(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		admin, l := w.Host("admin").Session, semaphore(w.Host("a"), 4, lock.WithWeight(3))
		require.NoError(w, held(w, l).Release(w.Context()))
		setLimit(w, admin, 2)
		require.ErrorIs(w, errOf(l.Lock(w.Context())), lock.ErrLimit)
		setLimit(w, admin, 4)
		require.NoError(w, held(w, l).Release(w.Context()))
	})
}

func TestSetLimit(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		require.NoError(w, must(lock.NewSemaphore(h.Session, "/a/new/one", 4)).SetLimit(w.Context(), 4), "it may come before the first instance")
		require.Equal(w, "4", content(w, "/a/new/one"))
		must(h.Create(w.Context(), "/empty", nil))
		require.NoError(w, must(lock.NewSemaphore(h.Session, "/empty", 4)).SetLimit(w.Context(), 4))
		must(h.Create(w.Context(), "/config", []byte("some: thing")))
		require.ErrorIs(w, must(lock.NewSemaphore(h.Session, "/config", 4)).SetLimit(w.Context(), 4), lock.ErrLimit, "other data are not overwritten")
		require.ErrorIs(w, errOf(must(lock.NewSemaphore(h.Session, "/config", 4)).Lock(w.Context())), lock.ErrLimit)
		require.Equal(w, "some: thing", content(w, "/config"))

		three := semaphore(h, 3)
		require.NoError(w, three.SetLimit(w.Context(), 5))
		require.NoError(w, held(w, three).Release(w.Context()), "it follows its own change")
		require.ErrorIs(w, errOf(semaphore(h, 3).TryLock(w.Context())), lock.ErrLimit)
		require.ErrorIs(w, newLock(h).SetLimit(w.Context(), 5), session.ErrUnsupported)
	})
}
