package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

func (w *world) semaphore(h *host, permits int, opts ...lock.Option) *lock.Lock {
	w.Helper()
	l, err := lock.NewSemaphore(h.Session, path, permits, opts...)
	require.NoError(w, err)
	return l
}

func TestASemaphoreHasItsPermits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.host("a")
		s1, s2, s3 := w.semaphore(h, 2, lock.WithData([]byte("one"))), w.semaphore(w.host("b"), 2), w.semaphore(w.host("c"), 2)
		first, second := w.held(s1), w.held(s2)
		require.Equal(w, fence.Shared, first.Sequencer().Mode)
		require.NoError(w, fence.Check(w.Context(), h.Session, first.Sequencer()))
		w.queued(s3)
		never(w, s3.Acquired(), "a third of two permits")
		data, stat, err := h.Get(w.Context(), path)
		require.NoError(w, err)
		require.Equal(w, "2", string(data))
		require.Zero(w, stat.EphemeralOwner, "a persistent znode, no container")
		line, err := s1.Contenders(w.Context())
		require.NoError(w, err)
		require.Equal(w, []bool{true, true, false}, []bool{line[0].Holding, line[1].Holding, line[2].Holding})
		require.Equal(w, "one", string(line[0].Data))
		require.NoError(w, first.Release(w.Context()))
		third := within(w, time.Second, s3.Acquired())
		require.Greater(w, third.Token(), second.Token())
		_, err = third.Commit(w.Context(), session.SetOp(path, []byte("2"), -1))
		require.NoError(w, err)
		require.NoError(w, second.Release(w.Context()))
		require.NoError(w, s3.Release(w.Context()))
		require.Zero(w, w.nodes())
	})
}

// Order is strict: who wants much is not starved by those behind who want little.
func TestASemaphoreIsStrictlyInOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		one, most, little := w.semaphore(w.host("a"), 3), w.semaphore(w.host("b"), 3, lock.WithWeight(3)), w.semaphore(w.host("c"), 3)
		g := w.held(one)
		w.queued(most)
		w.queued(little)
		never(w, little.Acquired(), "it overtook the one who wants more")
		require.NoError(w, g.Release(w.Context()))
		within(w, time.Second, most.Acquired())
		never(w, little.Acquired(), "more than the limit")
		require.NoError(w, most.Release(w.Context()))
		within(w, time.Second, little.Acquired())
	})
}

// B29: two who want three of four. One has them, then the other; nobody has a part.
func TestB29_AllPermitsAtOnceOrNone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a, b, c := w.semaphore(w.host("a"), 4, lock.WithWeight(3)), w.semaphore(w.host("b"), 4, lock.WithWeight(3)), w.semaphore(w.host("c"), 4)
		a.Acquire()
		b.Acquire()
		synctest.Wait()
		first, second := a, b
		select {
		case <-a.Acquired():
		case <-b.Acquired():
			first, second = b, a
		}
		never(w, second.Acquired(), "six of four")
		_, err := c.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld, "the second stands ahead")
		require.NoError(w, first.Release(w.Context()))
		within(w, time.Second, second.Acquired())
		_, err = c.TryLock(w.Context())
		require.NoError(w, err, "the fourth is free")
	})
}

// B30 [kazoo#429]: a try finds what is free, whoever else is being granted at the same moment.
func TestB30_ATryFindsWhatIsFree(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		const permits = 8
		defer w.server.Intercept(w.slowly(30))()
		won := make(chan error, permits)
		for i := range permits {
			l := w.semaphore(w.host(string(rune('a'+i))), permits)
			go func() { _, err := l.TryLock(w.Context()); won <- err }()
		}
		for range permits {
			require.NoError(w, within(w, time.Minute, won))
		}
		_, err := w.semaphore(w.host("last"), permits).TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		time.Sleep(time.Second)
		require.Equal(w, permits, w.nodes())
	})
}

// B28 [CURATOR-75]: raising the limit wakes those who fit then; lowering it takes nothing from those who hold.
func TestB28_TheLimitChanges(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin := w.host("admin").Session
		var all []*lock.Lock
		for i := range 6 {
			all = append(all, w.queued(w.semaphore(w.host(string(rune('a'+i))), 2)))
		}
		g0, g1 := within(w, time.Second, all[0].Acquired()), within(w, time.Second, all[1].Acquired())
		never(w, all[2].Acquired(), "a third of two")
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 4))
		g2, g3 := within(w, time.Second, all[2].Acquired()), within(w, time.Second, all[3].Acquired())
		never(w, all[4].Acquired(), "a fifth of four")
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 1))
		synctest.Wait()
		for _, g := range []*lock.Grant{g0, g1, g2, g3} {
			require.True(w, g.Valid(), "nobody loses what he has")
		}
		for _, l := range all[:3] {
			require.NoError(w, l.Release(w.Context()))
			never(w, all[4].Acquired(), "there are more holders than the limit, or as many")
		}
		require.NoError(w, all[3].Release(w.Context()))
		within(w, time.Second, all[4].Acquired())
		never(w, all[5].Acquired(), "a second of one")
		require.NoError(w, all[0].Close(w.Context()))
		again := w.queued(all[1])
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 2))
		within(w, time.Second, all[5].Acquired())
		never(w, again.Acquired(), "a third of two")
	})
}

func TestTheLimitIsAgreed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.host("a")
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
		within(w, time.Second, five.Done())
		require.ErrorIs(w, five.Err(), lock.ErrLimit)
		require.Zero(w, w.nodes())

		require.NoError(w, lock.SetLimit(w.Context(), h.Session, path, 5))
		require.NoError(w, w.held(three).Release(w.Context()), "who has agreed follows the change")
		_, err = w.semaphore(h, 3).Lock(w.Context())
		require.ErrorIs(w, err, lock.ErrLimit, "who comes anew has to know it")
		require.NoError(w, w.held(w.semaphore(h, 5, lock.WithWeight(5))).Release(w.Context()))
	})
}

// A change of the limit outlives a crash of the actor: what was agreed stays agreed.
func TestWhatWasAgreedStaysAgreedAfterAPanic(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.host("a")
		l := w.semaphore(h, 3)
		require.NoError(w, w.held(l).Release(w.Context()))
		require.NoError(w, lock.SetLimit(w.Context(), h.Session, path, 7))
		l.Crash("a bug")
		require.NoError(w, w.held(l).Release(w.Context()))
		require.NoError(w, l.Err())
	})
}

func TestALimitBelowTheWeight(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.host("a")
		heavy, light := w.semaphore(h, 3, lock.WithWeight(3)), w.semaphore(w.host("b"), 3)
		g := w.held(w.semaphore(w.host("c"), 3))
		failed := make(chan error, 1)
		go func() { _, err := heavy.Lock(w.Context()); failed <- err }()
		synctest.Wait()
		w.queued(light)
		require.NoError(w, lock.SetLimit(w.Context(), h.Session, path, 2))
		require.ErrorIs(w, within(w, time.Second, failed), lock.ErrLimit, "it could never be granted, and would hold up the line")
		within(w, time.Second, light.Acquired())
		require.NoError(w, g.Release(w.Context()))
		require.NoError(w, lock.SetLimit(w.Context(), h.Session, path, 3))
		require.NoError(w, light.Release(w.Context()))
		require.NoError(w, w.held(heavy).Release(w.Context()))
	})
}

func TestSetLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.host("a")
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

		w.server.ClearJournal()
		require.ErrorContains(w, lock.SetLimit(w.Context(), h.Session, path, 0), "n: 0")
		require.ErrorContains(w, lock.SetLimit(w.Context(), nil, path, 1), "s: nil session")
		require.ErrorIs(w, lock.SetLimit(w.Context(), h.Session, "locks", 1), session.ErrInvalidPath)
		requests, _ := w.traffic()
		require.Zero(w, requests)
	})
}

func TestSemaphoresRefuseBadInputAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.host("a")
		w.server.ClearJournal()
		_, err := lock.NewSemaphore(nil, path, 1)
		require.ErrorContains(w, err, "s: nil session")
		for _, permits := range []int{0, -1} {
			_, err = lock.NewSemaphore(h.Session, path, permits)
			require.ErrorContains(w, err, "permits: ")
		}
		for _, bad := range []string{"", "locks", "/locks/", "/locks//a", "/a\x00b"} {
			_, err = lock.NewSemaphore(h.Session, bad, 1)
			require.ErrorIs(w, err, session.ErrInvalidPath, "%q", bad)
		}
		for _, weight := range []int{0, -1, 4, 1 << 40} {
			_, err = lock.NewSemaphore(h.Session, path, 3, lock.WithWeight(weight))
			require.ErrorContains(w, err, "WithWeight: n: ")
		}
		for _, data := range []string{"unlock", "held\n", "placed 4\nx"} {
			_, err = lock.NewSemaphore(h.Session, path, 3, lock.WithData([]byte(data)))
			require.ErrorContains(w, err, "data", "%q", data)
		}
		_, err = lock.New(h.Session, path, lock.WithWeight(1))
		require.ErrorContains(w, err, "WithWeight")
		_, err = lock.NewRead(h.Session, path, lock.WithWeight(1))
		require.ErrorContains(w, err, "WithWeight")
		requests, _ := w.traffic()
		require.Zero(w, requests)
	})
}

// Whoever observes sees who holds, also where nobody comes or goes by it.
func TestObservingASemaphore(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin := w.host("admin").Session
		a, b, c := w.semaphore(w.host("a"), 1), w.semaphore(w.host("b"), 1), w.semaphore(w.host("c"), 1)
		states := c.Observe(w.Context())
		require.Empty(w, <-states)
		holding := func() (all []bool) {
			synctest.Wait()
			for _, c := range <-states {
				all = append(all, c.Holding)
			}
			return all
		}
		ga := w.held(a)
		require.Equal(w, []bool{true}, holding())
		w.queued(b)
		w.queued(c)
		require.Equal(w, []bool{true, false, false}, holding())
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 3))
		require.Equal(w, []bool{true, true, true}, holding())
		require.NoError(w, lock.SetLimit(w.Context(), admin, path, 1))
		require.NoError(w, ga.Release(w.Context()))
		require.Equal(w, []bool{true, true}, holding(), "who holds does so beyond a lowered limit")
		require.NoError(w, c.Close(w.Context()))
		for range states {
		}
	})
}

// A grant of a semaphore is as revocable as every other, and its mark, on which the successor relies, survives whatever is written over it.
func TestRevocationOfASemaphoresHolder(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		admin := w.host("admin").Session
		a, b, c := w.semaphore(w.host("a"), 2, lock.WithData([]byte("mine"))), w.semaphore(w.host("b"), 2), w.semaphore(w.host("c"), 2)
		ga, gb := w.held(a), w.held(b)
		require.NoError(w, lock.Revoke(w.Context(), admin, ga.Path()))
		within(w, time.Second, ga.Revoked())
		never(w, gb.Revoked(), "nobody asked this one")
		data, _, err := admin.Get(w.Context(), ga.Path())
		require.NoError(w, err)
		require.Equal(w, "unlock\nheld\nmine", string(data))
		_, err = admin.Set(w.Context(), gb.Path(), []byte("unlock"), -1) // as another library would
		require.NoError(w, err)
		within(w, time.Second, gb.Revoked())
		synctest.Wait()
		line, err := a.Contenders(w.Context())
		require.NoError(w, err)
		require.True(w, line[0].Holding)
		require.True(w, line[1].Holding)
		require.Equal(w, "unlock\nmine", string(line[0].Data))
		w.queued(c)
		require.NoError(w, ga.Release(w.Context()))
		within(w, time.Second, c.Acquired())
		require.NoError(w, lock.Break(w.Context(), admin, gb.Path(), time.Second))
		within(w, time.Second, gb.Done())
		require.ErrorIs(w, gb.Err(), session.ErrDeleted)
	})
}

// A predecessor that becomes a holder is no lost wake-up: its successor, which watched it, is the head from then on.
func TestTheSuccessorOfANewHolderIsTheHead(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		heavy := w.held(w.semaphore(w.host("a"), 3, lock.WithWeight(2)))
		light := w.held(w.semaphore(w.host("b"), 3))
		b, c := w.queued(w.semaphore(w.host("c"), 3, lock.WithWeight(2))), w.queued(w.semaphore(w.host("d"), 3))
		never(w, b.Acquired(), "more than the limit")
		require.NoError(w, heavy.Release(w.Context()))
		within(w, time.Second, b.Acquired())
		never(w, c.Acquired(), "more than the limit")
		require.NoError(w, light.Release(w.Context()))
		within(w, time.Second, c.Acquired())
	})
}

// I8: a release wakes the head of the waiters, and with each that is granted his successor; nobody else.
func TestI8_AReleasedPermitWakesThoseWhoFit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		const permits = 4
		holder := w.held(w.semaphore(w.host("holder"), permits, lock.WithWeight(permits)))
		hosts := []*host{w.host("a"), w.host("b"), w.host("c")}
		var line []*lock.Lock
		for i := range 60 {
			line = append(line, w.queued(w.semaphore(hosts[i%3], permits)))
		}
		w.server.ClearJournal()
		require.NoError(w, holder.Release(w.Context()))
		for _, l := range line[:permits] {
			within(w, time.Second, l.Acquired())
		}
		synctest.Wait()
		never(w, line[permits].Acquired(), "more than the limit")
		requests, events := w.traffic()
		// Each who is granted: his own watch and the successor's fire by the mark, and the successor is woken. The head's and the releaser's come on top.
		require.LessOrEqual(w, events, 2*permits+3)
		require.LessOrEqual(w, requests, 6*(permits+1), "of sixty who wait")
	})
}

// The uncontended cycle costs five requests at most once the limit is known; one less if it is released before the own znode's read was sent.
func TestAnUncontendedPermitIsFiveRequestsAtMost(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l := w.semaphore(w.host("a"), 2)
		require.NoError(w, w.held(l).Release(w.Context()))
		synctest.Wait()
		w.server.ClearJournal()
		require.NoError(w, w.held(l).Release(w.Context()))
		synctest.Wait()
		requests, _ := w.traffic()
		require.LessOrEqual(w, requests, 5, "create and list; the mark; read own; delete")
		require.GreaterOrEqual(w, requests, 4, "without the read")
	})
}

func TestExclusiveAndSharedLocksBesideASemaphore(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		s, l := w.semaphore(w.host("a"), 3), w.lock(w.host("b"))
		g := w.held(s)
		w.queued(l)
		never(w, l.Acquired(), "an exclusive lock beside a permit")
		other := w.queued(w.semaphore(w.host("c"), 3))
		never(w, other.Acquired(), "a permit behind an exclusive lock")
		require.NoError(w, g.Release(w.Context()))
		within(w, time.Second, l.Acquired())
		never(w, other.Acquired(), "a permit beside an exclusive lock")
		require.NoError(w, l.Release(w.Context()))
		within(w, time.Second, other.Acquired())
		_, err := s.Lock(w.held(s).Context())
		require.ErrorIs(w, err, lock.ErrDeadlock)
	})
}

// B27 [CURATOR-315/462/335]: who gives up, at whatever moment, keeps no permit.
func TestB27_AnInterruptedAcquireKeepsNoPermit(t *testing.T) {
	t.Parallel()
	for k := range 40 {
		inBubble(t, func(w *world) {
			defer w.server.Intercept(w.slowly(uint64(k)))()
			ha := w.host("a")
			a, b := w.semaphore(ha, 2, lock.WithWeight(2)), w.semaphore(w.host("b"), 2, lock.WithWeight(2))
			ctx, cancel := context.WithTimeout(w.Context(), time.Duration(k)*2*time.Millisecond)
			defer cancel()
			if k%3 == 0 {
				time.AfterFunc(time.Duration(k)*time.Millisecond, func() { w.server.Disconnect(ha.Status().SessionID) })
			}
			if g, err := a.Lock(ctx); err == nil {
				require.NoError(w, g.Release(w.Context()))
			} else {
				require.ErrorIs(w, err, context.DeadlineExceeded)
			}
			g, err := b.Lock(w.Context())
			require.NoError(w, err)
			time.Sleep(10 * time.Second)
			require.Equal(w, 1, w.nodes(), "k=%d", k)
			require.NoError(w, g.Release(w.Context()))
		})
	}
}
