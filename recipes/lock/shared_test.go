// Readers, writers and semaphores: what a reader may not ask for, who of other libraries is waited
// for as what, a writer that goes on as a reader; the limit that all agree on, and how it changes.
// The forms of other libraries are in layout_test.go.

package lock_test

import (
	"context"
	"errors"
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
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		r, r2, wr, other := w.reader(h), w.reader(h), w.writer(h), w.writer(w.Host("b"))
		w.Server.ClearJournal()
		require.NoError(w, r.Do(w.Context(), func(ctx context.Context, g *lock.Grant) error {
			began := time.Now()
			for _, l := range []*lock.Lock{wr, other} {
				_, err := l.Lock(ctx)
				require.ErrorIs(w, err, lock.ErrUpgrade)
				_, err = l.TryLock(g.Context())
				require.ErrorIs(w, err, lock.ErrUpgrade)
				require.ErrorIs(w, l.Do(ctx, func(context.Context, *lock.Grant) error { panic("never") }), lock.ErrUpgrade)
			}
			for _, l := range []*lock.Lock{r, r2, w.lock(h)} {
				_, err := l.Lock(ctx)
				require.ErrorIs(w, err, lock.ErrDeadlock, "that is no upgrade, and would wait for itself all the same once a writer is between")
			}
			require.Zero(w, time.Since(began))
			return nil
		}))
		require.NoError(w, wr.Do(w.Context(), func(ctx context.Context, _ *lock.Grant) error {
			for _, l := range []*lock.Lock{r, wr, other} {
				_, err := l.Lock(ctx)
				require.ErrorIs(w, err, lock.ErrDeadlock)
			}
			return nil
		}))
		require.Zero(w, w.nodes())
	})
}

// B20, B21, B22: contenders of Curator, kazoo and others are waited for as what they are, also
// where an older server has wrapped the numbers. What is no contender is waited for by nobody.
func TestB20_B21_B22_ForeignChildren(t *testing.T) {
	t.Parallel()
	const guid = "0123456789abcdef0123456789abcdef"
	inBubble(t, func(w *world) {
		h := w.Host("a")
		all := map[string]*lock.Lock{"reader": w.reader(h), "writer": w.writer(h)}
		everybody, writers, nobody := []string{"reader", "writer"}, []string{"writer"}, []string(nil)
		for _, layout := range []lock.Layout{lock.Troupe, lock.Curator, lock.Kazoo, lock.JavaWriteLock, lock.GoZooKeeper} {
			all[layout.String()] = w.lock(h, lock.WithLayout(layout))
			everybody, writers = append(everybody, layout.String()), append(writers, layout.String())
		}
		for wait, names := range map[*[]string][]string{
			&nobody: {"foo", "_c_x", "_c_", "lock-", "lock-12", "lock-0000000000x", "-", "0000000000", "lock-99999999999"},
			&writers: {
				"_c_5f0c17e2-7dec-4d0b-a765-00a0c91e6bf6-__READ__0000000000", "__READ__0000000000", guid + "__rlock__0000000000", "read-0000000000",
			},
			&everybody: {
				"_c_5f0c17e2-7dec-4d0b-a765-00a0c91e6bf6-__WRIT__0000000000", "__WRIT__0000000000", guid + "__lock__0000000000", "write-0000000000",
				"lock-0000000000", "x-72057594037927936-0000000000", "n_0000000000", "lease-2-0000000000",
				"lock-2147483647", "lock--2147483648", "lock--000000001",
			},
		} {
			for _, name := range names {
				_, err := h.Create(w.Context(), path+"/"+name, nil, session.Parents())
				require.NoError(w, err)
				for kind, l := range all {
					g, err := l.TryLock(w.Context())
					if slices.Contains(*wait, kind) {
						require.ErrorIs(w, err, lock.ErrHeld, "%s: %s", name, kind)
						continue
					}
					require.NoError(w, err, "%s: %s", name, kind)
					require.NoError(w, g.Release(w.Context()))
				}
				require.NoError(w, h.Delete(w.Context(), path+"/"+name, -1))
			}
		}
	})
}

// The standing intent of the write side stands again as a writer once the downgraded grant is over.
func TestADowngradedStandingIntentStandsAgainAsAWriter(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l := w.writer(w.Host("a"), lock.WithData([]byte("mine")))
		g := w.granted(l)
		read, err := g.Downgrade(w.Context())
		require.NoError(w, err)
		bubble.Never(w, l.Acquired(), "a second grant")
		line, err := l.Contenders(w.Context())
		require.NoError(w, err)
		require.Equal(w, "mine", string(line[0].Data))
		require.NoError(w, read.Release(w.Context()))
		again := bubble.Within(w, time.Second, l.Acquired())
		require.Equal(w, fence.Exclusive, again.Sequencer().Mode)
		read, err = again.Downgrade(w.Context())
		require.NoError(w, err)
		require.NoError(w, l.Release(w.Context()))
		require.ErrorIs(w, read.Err(), session.ErrReleased)
		require.Zero(w, w.nodes())
	})
}

func TestDowngradeWithinDo(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		l, waiting := w.writer(h), w.writer(w.Host("b"))
		boom := errors.New("boom")
		err := l.Do(w.Context(), func(ctx context.Context, g *lock.Grant) error {
			w.queued(waiting)
			read, err := g.Downgrade(ctx) // whose own end this very call is
			require.NoError(w, err)
			bubble.Within(w, time.Second, ctx.Done())
			require.ErrorIs(w, context.Cause(ctx), session.ErrReleased)
			bubble.Never(w, waiting.Acquired(), "a writer beside a reader")
			require.True(w, read.Valid())
			return boom
		})
		require.ErrorIs(w, err, boom)
		require.NotErrorIs(w, err, session.ErrLost)
		bubble.Within(w, time.Second, waiting.Acquired())
		require.NoError(w, waiting.Release(w.Context()))
		require.Zero(w, w.nodes(), "what came of the grant is released with it")

		err = l.Do(w.Context(), func(ctx context.Context, g *lock.Grant) error {
			read, err := g.Downgrade(ctx)
			require.NoError(w, err)
			require.NoError(w, h.Delete(w.Context(), read.Path(), -1))
			bubble.Within(w, time.Second, read.Done())
			return nil
		})
		require.ErrorIs(w, err, session.ErrLost)
	})
}

func TestADowngradeThatCannotBe(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		for _, l := range []*lock.Lock{w.lock(h), w.reader(h), w.lock(h, lock.WithLayout(lock.Kazoo))} { // whose exclusive lock and write lock are one
			g := w.held(l)
			_, err := g.Downgrade(w.Context())
			require.ErrorIs(w, err, session.ErrUnsupported)
			require.True(w, g.Valid(), "nothing has changed")
			require.NoError(w, g.Release(w.Context()))
		}
		l := w.writer(h)
		g := w.held(l)
		_, err := g.Downgrade(w.ended())
		require.ErrorIs(w, err, context.Canceled)
		require.True(w, g.Valid(), "nothing has changed")
		require.NoError(w, g.Release(w.Context()))
		_, err = g.Downgrade(w.Context())
		require.ErrorIs(w, err, session.ErrLost, "it was released")

		g = w.held(l)
		require.NoError(w, h.Delete(w.Context(), g.Path(), -1))
		_, err = g.Downgrade(w.Context())
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrDeleted)

		g = w.held(l)
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

		for range 100 { // the two come in whatever order
			g = w.held(l)
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
		require.Zero(w, w.nodes())
	})
}

// A caller who leaves gets nothing, and nothing is left.
func TestADowngradeWhoseCallerLeaves(t *testing.T) {
	t.Parallel()
	for _, fate := range []zktest.Verdict{zktest.Delay(2 * time.Second), zktest.CutAfter, zktest.CutBefore, zktest.DropReply} {
		inBubble(t, func(w *world) {
			h := w.Host("a")
			l, waiting := w.writer(h), w.writer(w.Host("b"))
			g := w.held(l)
			w.queued(waiting)
			hear := w.deaf(h, fate)
			ctx, cancel := context.WithTimeout(w.Context(), time.Second)
			defer cancel()
			read, err := g.Downgrade(ctx)
			hear()
			if err == nil { // the reconnection was quick
				require.NoError(w, read.Release(w.Context()))
			} else {
				require.ErrorIs(w, err, context.DeadlineExceeded)
			}
			bubble.Within(w, 20*time.Second, waiting.Acquired())
			time.Sleep(time.Minute)
			require.Equal(w, 1, w.nodes())
		})
	}
}

// A revocation of the writer is none of the reader.
func TestRevocationBesideADowngrade(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin := w.Host("admin").Session
		g := w.held(w.writer(w.Host("a")))
		require.NoError(w, lock.Revoke(w.Context(), admin, g.Path()))
		bubble.Within(w, time.Second, g.Revoked())
		read, err := g.Downgrade(w.Context())
		require.NoError(w, err)
		bubble.Never(w, read.Revoked(), "nobody asked the reader")
		require.NoError(w, lock.Revoke(w.Context(), admin, read.Path()))
		bubble.Within(w, time.Second, read.Revoked())
	})
}

// Whoever observes sees who holds, also where nobody comes or goes by it.
func TestObservingASemaphore(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin := w.Host("admin").Session
		a, b, c := w.semaphore(w.Host("a"), 1), w.semaphore(w.Host("b"), 1), w.semaphore(w.Host("c"), 1)
		states := c.Observe(w.Context())
		require.Empty(w, bubble.Within(w, time.Second, states))
		holding := func() (all []bool) {
			synctest.Wait()
			for _, c := range bubble.Within(w, time.Second, states) {
				all = append(all, c.Holding)
			}
			return all
		}
		ga := w.held(a)
		require.Equal(w, []bool{true}, holding())
		w.queued(b)
		w.queued(c)
		require.Equal(w, []bool{true, false, false}, holding())
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 2))
		require.Equal(w, []bool{true, true, false}, holding())
		require.NoError(w, lock.Revoke(w.Context(), admin, bubble.Within(w, time.Second, b.Acquired()).Path()))
		bubble.Never(w, states, "what is written to a holder says nothing of the next")
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 3))
		require.Equal(w, []bool{true, true, true}, holding())
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 1))
		require.NoError(w, ga.Release(w.Context()))
		require.Equal(w, []bool{true, true}, holding(), "who holds does so beyond a lowered limit")
		require.NoError(w, c.Close(w.Context()))
		bubble.Closes(w, states)
	})
}

// B30 [kazoo#429]: a try finds what is free, whoever else is being granted at the same moment.
func TestB30_ATryFindsWhatIsFree(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		const permits = 8
		defer w.Server.Intercept(bubble.Slowly(30))()
		won := make(chan error, permits)
		for i := range permits {
			l := w.semaphore(w.Host(string(rune('a'+i))), permits)
			go func() { _, err := l.TryLock(w.Context()); won <- err }()
		}
		for range permits {
			require.NoError(w, bubble.Within(w, time.Minute, won))
		}
		_, err := w.semaphore(w.Host("last"), permits).TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		time.Sleep(time.Second)
		require.Equal(w, permits, w.nodes())
	})
}

func TestExclusiveAndSharedLocksBesideASemaphore(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		s, l := w.semaphore(w.Host("a"), 3), w.lock(w.Host("b"))
		g := w.held(s)
		w.queued(l)
		bubble.Never(w, l.Acquired(), "an exclusive lock beside a permit")
		other := w.queued(w.semaphore(w.Host("c"), 3))
		bubble.Never(w, other.Acquired(), "a permit behind an exclusive lock")
		require.NoError(w, g.Release(w.Context()))
		bubble.Within(w, time.Second, l.Acquired())
		bubble.Never(w, other.Acquired(), "a permit beside an exclusive lock")
		require.NoError(w, l.Release(w.Context()))
		bubble.Within(w, time.Second, other.Acquired())
		_, err := s.Lock(w.held(s).Context())
		require.ErrorIs(w, err, lock.ErrDeadlock)
	})
}

func TestTheLimitIsAgreed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		three := w.semaphore(h, 3)
		require.NoError(w, w.held(three).Release(w.Context()))
		five := w.semaphore(h, 5)
		_, err := five.Lock(w.Context())
		require.ErrorIs(w, err, lock.ErrLimit)
		_, err = five.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrLimit)
		require.ErrorContains(w, err, "lock: the semaphore's limit is another: it is 3, not 5")
		require.NoError(w, five.Err(), "a caller was refused; the instance goes on")
		five.Acquire()
		bubble.Within(w, time.Second, five.Done())
		require.ErrorIs(w, five.Err(), lock.ErrLimit)
		require.Zero(w, w.nodes())

		require.NoError(w, lock.SetLimit(w.Context(), h.Session, path, 5))
		three.Crash("a bug")
		require.NoError(w, w.held(three).Release(w.Context()), "who has agreed follows the change, whatever becomes of its actor")
		_, err = w.semaphore(h, 3).Lock(w.Context())
		require.ErrorIs(w, err, lock.ErrLimit, "who comes anew has to know it")
		require.NoError(w, w.held(w.semaphore(h, 5, lock.WithWeight(5))).Release(w.Context()))
	})
}

func TestALimitBelowTheWeight(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		heavy, light := w.semaphore(h, 3, lock.WithWeight(3)), w.semaphore(w.Host("b"), 3)
		g := w.held(w.semaphore(w.Host("c"), 3))
		failed := bubble.Begin(func() error { _, err := heavy.Lock(w.Context()); return err })
		synctest.Wait()
		w.queued(light)
		require.NoError(w, lock.SetLimit(w.Context(), h.Session, path, 2))
		require.ErrorIs(w, bubble.Within(w, time.Second, failed), lock.ErrLimit, "it could never be granted, and would hold up the line")
		bubble.Within(w, time.Second, light.Acquired())
		require.NoError(w, g.Release(w.Context()))
		require.NoError(w, lock.SetLimit(w.Context(), h.Session, path, 3))
		require.NoError(w, light.Release(w.Context()))
		require.NoError(w, w.held(heavy).Release(w.Context()))
	})
}

// What was read of the limit before does not refuse anybody: it may have been raised since.
func TestALimitThatWasRaisedAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin, l := w.Host("admin").Session, w.semaphore(w.Host("a"), 4, lock.WithWeight(3))
		require.NoError(w, w.held(l).Release(w.Context()))
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 2))
		_, err := l.Lock(w.Context())
		require.ErrorIs(w, err, lock.ErrLimit)
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 4))
		require.NoError(w, w.held(l).Release(w.Context()))
	})
}

func TestSetLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		require.NoError(w, lock.SetLimit(w.Context(), h.Session, "/a/new/one", 4), "it may come before the first instance")
		data, _, err := h.Get(w.Context(), "/a/new/one")
		require.NoError(w, err)
		require.Equal(w, "4", string(data))
		_, err = h.Create(w.Context(), "/empty", nil)
		require.NoError(w, err)
		require.NoError(w, lock.SetLimit(w.Context(), h.Session, "/empty", 4))
		_, err = h.Create(w.Context(), "/config", []byte("some: thing"))
		require.NoError(w, err)
		require.ErrorIs(w, lock.SetLimit(w.Context(), h.Session, "/config", 4), lock.ErrLimit, "a slip of the pen overwrites nothing")
		l, err := lock.NewSemaphore(h.Session, "/config", 4)
		require.NoError(w, err)
		_, err = l.Lock(w.Context())
		require.ErrorIs(w, err, lock.ErrLimit)
		data, _, err = h.Get(w.Context(), "/config")
		require.NoError(w, err)
		require.Equal(w, "some: thing", string(data))
	})
}
