package barrier_test

// Barriers that are raised and lowered, and what waiting for one costs. (Rounds: double_test.go.)

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestWaitersPassWhenItIsLowered(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		a := newGate(w, w.Host("a"), barrier.WithName("migrator"))
		require.NoError(w, a.Wait(w.Context()), "it is down")
		require.NoError(w, a.Raise(w.Context()))
		require.NoError(w, a.Raise(w.Context()), "it is up")
		passed := make(chan error, 10)
		for range 10 {
			b := newGate(w, w.Host("b"))
			go func() { passed <- b.Wait(w.Context()) }()
		}
		time.Sleep(time.Minute)
		bubble.Never(w, passed, "it is up")
		data, _, err := w.Host("c").Get(w.Context(), gatePath)
		require.NoError(w, err)
		require.Equal(w, "migrator", string(data))
		require.NoError(w, a.Lower(w.Context()))
		for range 10 {
			require.NoError(w, bubble.Now(w, passed))
		}
		require.NoError(w, a.Lower(w.Context()), "it is down")
	})
}

// A barrier that is lowered and raised again before a waiter could read it lets all pass that
// waited for it: it is told apart by the transaction that created it.
func TestLoweredAndRaisedAtOnce(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		ha, hb := w.Host("a"), w.Host("b")
		a, b := newGate(w, ha), newGate(w, hb)
		require.NoError(w, a.Raise(w.Context()))
		passed := beginWait(w, b)
		lowered := b.Lowered(w.Context())
		synctest.Wait()
		slow := hb.Status().SessionID
		stop := w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == slow && r.Op != zktest.OpPing && r.Op != zktest.OpSync {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		require.NoError(w, a.Lower(w.Context()))
		require.NoError(w, a.Raise(w.Context()))
		require.NoError(w, bubble.Within(w, time.Minute, passed))
		bubble.Within(w, time.Minute, lowered)
		stop()
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(w, b.Wait(ctx), context.DeadlineExceeded, "another is up")
	})
}

func TestLowered(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		b := newGate(w, w.Host("a"))
		bubble.Now(w, b.Lowered(w.Context())) // it is down
		require.NoError(w, b.Raise(w.Context()))
		ctx, cancel := context.WithCancel(w.Context())
		first, second := b.Lowered(ctx), b.Lowered(w.Context())
		bubble.Never(w, first, "it is up")
		cancel()
		bubble.Never(w, first, "its context has ended, and it is up")
		bubble.Never(w, second, "it is up")
		require.NoError(w, b.Lower(w.Context()))
		bubble.Now(w, second)
		bubble.Never(w, first, "it is not watched any more")
	})
}

func TestObserve(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		b := newGate(w, h)
		ctx, cancel := context.WithCancel(w.Context())
		states := b.ObserveStatus(ctx)
		require.Equal(w, barrier.Status{}, bubble.Now(w, states))
		require.NoError(w, b.Raise(w.Context()))
		require.Equal(w, barrier.Status{Raised: true}, bubble.Now(w, states))
		heal := h.Machine.Partition()
		require.Equal(w, barrier.Status{Raised: true, Stale: true}, bubble.Within(w, time.Minute, states))
		heal()
		require.Equal(w, barrier.Status{Raised: true}, bubble.Within(w, time.Minute, states))
		require.NoError(w, newGate(w, w.Host("b")).Lower(w.Context()))
		require.Equal(w, barrier.Status{}, bubble.Now(w, states))
		cancel()
		bubble.Closed(w, states)
	})
}

// A waiter does not pass because of a lost connection or an expiry; and it passes if the barrier
// was lowered meanwhile.
func TestWaitThroughLossesAndExpiry(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		b, other := newGate(w, h), newGate(w, w.Host("b"))
		require.NoError(w, b.Raise(w.Context()))
		passed := beginWait(w, b)
		for range 5 {
			w.Server.Disconnect(h.Status().SessionID)
			time.Sleep(2 * time.Second)
			w.Server.Expire(h.Status().SessionID)
			time.Sleep(2 * time.Second)
			bubble.Never(w, passed, "it is up")
		}
		heal := h.Machine.Partition()
		require.NoError(w, other.Lower(w.Context()))
		time.Sleep(time.Minute)
		bubble.Never(w, passed, "it can't know")
		heal()
		require.NoError(w, bubble.Within(w, time.Minute, passed))
	})
}

// A barrier that can't be read any more does not count as down: its waiters go on waiting.
func TestWaitForABarrierThatCanNoLongerBeRead(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h, other := w.Host("a"), w.Host("b")
		b := newGate(w, h)
		require.NoError(w, b.Raise(w.Context()))
		passed := beginWait(w, b)
		time.Sleep(time.Second)
		must(other.SetACL(w.Context(), gatePath, session.AnyoneACL(session.PermWrite), -1))
		w.Server.Expire(h.Status().SessionID) // so that it is read again
		time.Sleep(time.Minute)
		bubble.Never(w, passed, "it is up")
		require.NoError(w, other.Delete(w.Context(), gatePath, -1))
		require.NoError(w, bubble.Within(w, time.Minute, passed))
	})
}

func TestWaitEnds(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		b := newGate(w, h)
		require.NoError(w, b.Raise(w.Context()))
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		err := b.Wait(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		var oe *session.OpError
		require.ErrorAs(w, err, &oe)
		require.Equal(w, gatePath, oe.Path)
		passed := beginWait(w, b)
		lowered := b.Lowered(w.Context())
		synctest.Wait()
		require.NoError(w, h.Close(w.Context()))
		require.ErrorIs(w, bubble.Now(w, passed), session.ErrClosed)
		bubble.Never(w, lowered, "it is not known to be down")
		require.ErrorIs(w, b.Lower(w.Context()), session.ErrClosed)
	})
}

// Any reply or request may be lost: the barrier is up when Raise has returned, and down when Lower
// has.
func TestLostRepliesOfABarrier(t *testing.T) {
	t.Parallel()
	bubble.EachFate(t, func(w *bubble.World, k int, strike func(s *session.Session)) {
		h := w.Host("a")
		b, other := newGate(w, h), w.Host("b")
		strike(h.Session)
		for range 2 {
			require.NoError(w, b.Raise(w.Context()), "k=%d", k)
			require.True(w, raised(w, other), "k=%d", k)
			passed := beginWait(w, b)
			time.Sleep(time.Second)
			bubble.Never(w, passed, "it is up")
			require.NoError(w, b.Lower(w.Context()), "k=%d", k)
			require.False(w, raised(w, other), "k=%d", k)
			require.NoError(w, bubble.Within(w, time.Minute, passed))
		}
	})
}

// Waiting costs a sync, a read and a watch, however long it takes.
func TestCostOfABarrier(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		b := newGate(w, w.Host("a"))
		other := newGate(w, w.Host("b"))
		require.NoError(w, other.Raise(w.Context()))
		w.Server.ClearJournal()
		passed := beginWait(w, b)
		time.Sleep(10 * time.Minute)
		require.NoError(w, other.Lower(w.Context()))
		require.NoError(w, bubble.Now(w, passed))
		requests, events := cost(w)
		require.LessOrEqual(w, requests, 4.0, "a sync, a read, a watch, and the other's deletion")
		require.LessOrEqual(w, events, 1.0)
	})
}

func TestWaitsThatEndedLeaveNoWatch(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		h := w.Host("a")
		ctx, cancel := context.WithCancel(w.Context())
		passed := make([]<-chan error, 20)
		for i := range passed {
			b := must(barrier.New(h.Session, fmt.Sprintf("/gates/%d", i)))
			require.NoError(w, b.Raise(w.Context()))
			passed[i] = bubble.Begin(func() error { return b.Wait(ctx) })
			synctest.Wait()
			if i%2 == 0 {
				require.NoError(w, b.Lower(w.Context()))
				require.NoError(w, bubble.Now(w, passed[i]))
			}
		}
		require.Equal(w, 10, w.Watches(h.Session), "none for the next creation of what was lowered")
		cancel()
		for i := 1; i < len(passed); i += 2 {
			require.ErrorIs(w, bubble.Now(w, passed[i]), context.Canceled)
		}
		require.Zero(w, w.Watches(h.Session))
	})
}

// B75: a raised barrier holds a process that was told of it, and Break breaks a round in which a
// party is known to wait, also if the server lags behind. A leader, which is the second of two
// here, does not catch up at a sync.
func TestB75_WaitAndBreakAreUpToDate(t *testing.T) {
	t.Parallel()
	bubble.EachRow(t, map[string]int{"a follower": 0, "the leader": 1}, func(w *bubble.World, lagging int) {
		server := func(i int) []string { return w.Server.Hosts()[i : i+1] }
		near, far := w.HostOn("a", server(1-lagging)), w.HostOn("b", server(lagging))
		a, b := newDouble(w, near, 2, barrier.WithName("a")), newDouble(w, far, 2, barrier.WithName("b"))
		w.Server.Lag(lagging, 100)
		require.NoError(w, newGate(w, near).Raise(w.Context()))
		passed := beginWait(w, newGate(w, far))
		time.Sleep(time.Minute)
		bubble.Never(w, passed, "it is up")
		require.NoError(w, newGate(w, near).Lower(w.Context()))
		w.Server.Lag(lagging, 0)
		require.NoError(w, bubble.Within(w, time.Second, passed))

		w.Server.Lag(lagging, 100)
		waits := beginEnter(w, a)
		synctest.Wait()
		require.NoError(w, b.Break(w.Context()))
		require.ErrorIs(w, bubble.Within(w, time.Second, waits), barrier.ErrBroken)
	}, bubble.Brisk(zktest.WithServers(2))...)
}

// raised tells whether the barrier is up.
func raised(w *bubble.World, h *bubble.Host) bool {
	_, up, err := h.Exists(w.Context(), gatePath)
	require.NoError(w, err)
	return up
}
