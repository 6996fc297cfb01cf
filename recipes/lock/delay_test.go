// The delay after a loss: who keeps it, for how long, what of it is left, and what others are
// shown.

package lock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// One who comes later, when nobody was there to see the end, waits for as long from when it finds
// the record. A try, or a wait that is given up, leaves no znode, and the record as it is.
func TestDelayForOneWhoComesLater(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		w.held(w.delayed(ha))
		ha.Machine.Partition()
		time.Sleep(time.Hour)
		require.Contains(w, w.Server.Dump(), path+"/held")
		require.Zero(w, w.nodes())
		b := w.delayed(w.Host("b"))
		_, err := b.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		ctx, cancel := context.WithTimeout(w.Context(), lockDelay/2)
		defer cancel()
		_, err = b.Lock(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		synctest.Wait()
		require.Zero(w, w.nodes())
		for _, delay := range []time.Duration{lockDelay, 0} {
			began := time.Now()
			require.NoError(w, w.held(b).Release(w.Context()))
			require.Equal(w, delay, time.Since(began))
		}
		require.NoError(w, b.Close(w.Context()))
		require.NotContains(w, w.Server.Dump(), "/held")
	})
}

// Who uses no delay neither waits nor writes, and is waited for.
func TestDelayBesideNone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		without, with := w.lock(h), w.delayed(w.Host("b"))
		g := w.held(without)
		require.NotContains(w, w.Server.Dump(), "/held")
		var second *lock.Grant // not of a standing intent: that would stand again, and perhaps before the next one
		got := bubble.Begin(func() (err error) { second, err = with.Lock(w.Context()); return err })
		time.Sleep(unwatched)
		require.NoError(w, h.Delete(w.Context(), g.Path(), -1))
		began := time.Now()
		require.NoError(w, bubble.Within(w, time.Minute, got))
		require.Zero(w, time.Since(began), "it left no record")
		require.NoError(w, h.Delete(w.Context(), second.Path(), -1))
		w.held(without)
		require.Zero(w, time.Since(began))
	})
}

// Whoever loses one part has not given up the others, though these end with it: their delays apply.
// If a part was released, or the Multi was closed, there is none.
func TestDelayOfTheOtherPartsOfAMulti(t *testing.T) {
	t.Parallel()
	for end, delay := range map[string]time.Duration{"lost": lockDelay, "released": 0, "closed": 0} {
		inBubble(t, func(w *world) {
			ha, hb := w.Host("a"), w.Host("b")
			m, err := lock.NewMulti(w.at(hb, "/before"), w.delayed(ha), w.at(hb, "/m/behind"))
			require.NoError(w, err)
			g, err := m.Lock(w.Context())
			require.NoError(w, err)
			b := w.queued(w.delayed(hb))
			began := time.Now()
			switch end {
			case "released":
				require.NoError(w, g.Grants()[0].Release(w.Context()))
			case "closed":
				require.NoError(w, m.Close(w.Context()))
			case "lost":
				time.Sleep(unwatched)
				began = time.Now()
				require.NoError(w, hb.Delete(w.Context(), g.Grants()[0].Path(), -1))
			}
			next := bubble.Within(w, time.Minute, b.Acquired())
			require.Equal(w, delay, time.Since(began), end)
			require.NoError(w, next.Release(w.Context()))
		})
	}
}

// Whoever releases a Multi in the moment of its loss does not give up the other parts either.
func TestDelayBesideAReleaseAtTheMomentOfTheLoss(t *testing.T) {
	t.Parallel()
	for range 10 { // some release comes before the end of the whole has reached its parts, mostly
		inBubble(t, releasesWhatIsLost)
	}
}

func releasesWhatIsLost(w *world) {
	ha, hb := w.Host("a"), w.Host("b")
	m, err := lock.NewMulti(w.at(hb, "/before"), w.delayed(ha))
	require.NoError(w, err)
	g, err := m.Lock(w.Context())
	require.NoError(w, err)
	b := w.queued(w.delayed(hb))
	time.Sleep(unwatched)
	for range 1000 {
		context.AfterFunc(g.Context(), func() { _ = g.Release(w.Context()) })
	}
	began := time.Now()
	require.NoError(w, hb.Delete(w.Context(), g.Grants()[0].Path(), -1))
	next := bubble.Within(w, time.Minute, b.Acquired())
	require.Equal(w, lockDelay, time.Since(began))
	require.NoError(w, next.Release(w.Context()))
}

// A place that nothing has come of yet is given back with the record when the actor crashes, and
// the request has not been carried out so far: it was lost, or the server put it off. The place is
// deleted before the instance queues again, so what comes late deletes nothing: not the new znode,
// and not its record, or the next in line would be granted without any delay after a loss. What was
// lost the crashed incarnation does not ask for again.
func TestADepartureUnderWayBehindACrash(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]zktest.Verdict{"lost": zktest.CutBefore, "put off": zktest.Fail(zktest.ErrThrottled)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 20 { // the recovery and what it must not meet run side by side
				inBubble(t, func(w *world) { departs(w, fate) })
			}
		})
	}
}

func departs(w *world, fate zktest.Verdict) {
	h := w.Host("a", session.WithTrustMargin(4500*time.Millisecond))
	l, rival, id := w.delayed(h), w.delayed(w.Host("b")), h.Status().SessionID
	var slow, wrote, refused, granted atomic.Bool
	var repeated atomic.Int64
	lost := make(chan struct{}, 1)
	w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		departure := r.Op == zktest.OpMulti && r.Ops[0].Op == zktest.OpDelete
		switch {
		case r.SessionID != id || r.Op == zktest.OpConnect || r.Op == zktest.OpPing:
			return zktest.Pass
		case departure && !granted.Load():
			select {
			case lost <- struct{}{}:
			default:
			}
			return fate
		case departure:
			repeated.Add(1)
			return zktest.Pass
		case r.Op == zktest.OpMulti && !wrote.Swap(true): // the token
			slow.Store(true)
		case r.Op == zktest.OpGetData && !refused.Swap(true): // that it cannot be seen to is why the place is given back; it may come before the token
			return zktest.Fail(zktest.ErrNoAuth)
		}
		if slow.Load() {
			return zktest.Delay(1600 * time.Millisecond) // too late to prove that the session lives, so nothing is granted
		}
		return zktest.Pass
	}))
	l.Acquire()
	bubble.Within(w, time.Minute, lost)
	slow.Store(false)
	l.Crash("a bug")
	g := bubble.Within(w, time.Minute, l.Acquired())
	granted.Store(true)
	rival.Acquire()
	time.Sleep(time.Minute)
	require.NoError(w, g.Err())
	bubble.Never(w, rival.Acquired(), "beside the holder")
	if fate == zktest.CutBefore {
		require.Zero(w, repeated.Load())
	}
	require.NoError(w, l.Release(w.Context()))
	require.NoError(w, bubble.Within(w, time.Second, rival.Acquired()).Release(w.Context()))
	require.NoError(w, rival.Close(w.Context()))
	require.Zero(w, w.nodes(), w.Server.Dump())
	require.NotContains(w, w.Server.Dump(), path+"/held")
}

// Who waits for a delay is not shown as the holder, to nobody and by nothing. It is said after whom
// it waits, and until when; each observation tells it without a change of the line.
func TestWhoWaitsForADelayDoesNotHold(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.process("a", session.WithIdentity("orders-7"))
		g := w.held(w.delayed(h))
		began := time.Now()
		b := w.lock(w.Host("b"))
		observed := b.Observe(w.Context())
		all := bubble.Get(w, observed)
		require.Len(w, all, 1)
		require.Equal(w, began.UTC(), all[0].Held.UTC())
		require.True(w, all[0].Holding)
		d, err := b.Delay(w.Context())
		require.NoError(w, err)
		require.Zero(w, d)
		h.Die()
		time.Sleep(time.Minute)
		require.Empty(w, bubble.Get(w, observed))
		d, err = b.Delay(w.Context())
		require.NoError(w, err)
		require.Equal(w, g.Token(), d.Token)
		require.Equal(w, "orders-7", d.Owner.Name)
		require.Zero(w, d.Until, "nobody waits")
		record, err := w.Server.Get(path + "/held")
		require.NoError(w, err)
		_, err = w.delayed(w.Host("e")).TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		same, err := w.Server.Get(path + "/held")
		require.NoError(w, err)
		require.Equal(w, string(record), string(same), "a try does not wait")
		require.Error(w, w.gaveUp(w.delayed(w.Host("e")), time.Second))
		synctest.Wait()
		again, err := b.Delay(w.Context())
		require.NoError(w, err)
		require.Equal(w, d, again, "who waited has gone")
		waits := w.delayed(w.Host("c"))
		waits.Acquire()
		synctest.Wait()
		d.Until = time.Now().Add(lockDelay)
		check := func(all []lock.Contender, holding bool) {
			require.Len(w, all, 1)
			require.Equal(w, holding, all[0].Holding)
			require.Equal(w, holding, all[0].Delayed.Token == 0)
			require.Equal(w, holding, !all[0].Held.IsZero())
			if !holding {
				require.Equal(w, d.Until.UTC(), all[0].Delayed.Until.UTC())
				require.Equal(w, d.Owner, all[0].Delayed.Owner)
			}
		}
		check(bubble.Get(w, observed), false)
		all, err = b.Contenders(w.Context())
		require.NoError(w, err)
		check(all, false)
		for _, l := range []*lock.Lock{b, w.lock(w.Host("d"))} {
			require.Regexp(w, `: delayed until 20\S+, after orders-7 on host \S+ \(pid \d+\); 1 wait`, w.gaveUp(l, 2*time.Second).Error())
		}
		time.Sleep(lockDelay)
		synctest.Wait()
		check(bubble.Get(w, observed), true)
		all, err = b.Contenders(w.Context())
		require.NoError(w, err)
		check(all, true)
	})
}

// Who may read the contenders and not the record beside them is shown the line at once, and not
// that the first holds: it may wait for a delay.
func TestADelayThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.process("a")
		w.held(w.delayed(h))
		h.Die()
		time.Sleep(time.Minute)
		w.delayed(w.Host("b")).Acquire()
		synctest.Wait()
		_, err := w.Host("c").Session.SetACL(w.Context(), path+"/held", []session.ACL{{Perms: session.PermAll, Scheme: "digest", ID: "a:b"}}, -1)
		require.NoError(w, err)
		observed := w.lock(w.Host("d")).Observe(w.Context())
		for n := range 2 {
			synctest.Wait()
			all := bubble.Get(w, observed)
			require.Len(w, all, n+1)
			require.Equal(w, []bool{true, false}, []bool{all[0].Unread, all[0].Holding})
			w.lock(w.Host("e")).Acquire()
		}
		_, err = w.lock(w.Host("d")).Contenders(w.Context())
		require.ErrorIs(w, err, session.ErrNoAuth)
	})
}

// The marks of a semaphore tell when each was granted, to an observer too.
func TestHeldOfASemaphore(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		first := w.held(w.semaphore(w.Host("a"), 1))
		began := time.Now()
		second := w.queued(w.semaphore(w.Host("b"), 1))
		seer := w.semaphore(w.Host("c"), 1)
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		observed := seer.Observe(ctx)
		all := bubble.Get(w, observed)
		require.Equal(w, began.UTC(), all[0].Held.UTC())
		require.Zero(w, all[1].Held)
		time.Sleep(time.Minute)
		require.NoError(w, first.Release(w.Context()))
		bubble.Get(w, second.Acquired())
		synctest.Wait()
		all = bubble.Get(w, observed)
		require.Len(w, all, 1)
		require.Equal(w, began.Add(time.Minute).UTC(), all[0].Held.UTC())
		require.NoError(w, lock.Revoke(w.Context(), w.Host("d").Session, all[0].Path))
		all, err := seer.Contenders(w.Context())
		require.NoError(w, err)
		require.Zero(w, all[0].Held, "what was written last is not the grant")
	})
}
