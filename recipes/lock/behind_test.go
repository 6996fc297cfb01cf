package lock_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A place that nothing has come of yet is given back with the record when the actor crashes, and
// the request has not been carried out so far: it was lost, or the server put it off. Nobody takes
// the place over, or it would be deleted while it is held, and the next in line be granted beside
// it, without any delay. What was lost the crashed incarnation does not ask for again.
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

// B75: one whose server lags behind is told of the line as it was settled before it asked.
func TestB75_ContendersAreUpToDate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		servers := w.Server.Hosts()
		a, watcher := w.lock(w.HostOn("a", servers[1:])), w.lock(w.HostOn("b", servers[:1]))
		w.Server.Lag(0, 5)
		g := w.held(a)
		line, err := watcher.Contenders(w.Context())
		require.NoError(w, err)
		require.Len(w, line, 1)
		require.NoError(w, g.Release(w.Context()))
		line, err = watcher.Contenders(w.Context())
		require.NoError(w, err)
		require.Empty(w, line)
	}, zktest.WithServers(2))
}
