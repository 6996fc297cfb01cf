// The delay after a loss: who keeps it, for how long, and what of it is left. That the record of a
// possession that is lost stays, and that of one that is given up goes, whichever reply is lost, is
// in package contend's schedules and package recipe's tests.

package lock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
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
