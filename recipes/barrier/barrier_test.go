package barrier_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const gatePath = "/gates/migration"

func (w *world) gate(h *host, opts ...barrier.Option) *barrier.Barrier {
	w.Helper()
	b, err := barrier.New(h.Session, gatePath, opts...)
	require.NoError(w, err)
	return b
}

// waits has somebody wait until the barrier is lowered, and tells what becomes of it.
func (w *world) waits(b *barrier.Barrier) <-chan error {
	passed := make(chan error, 1)
	go func() { passed <- b.Wait(w.Context()) }()
	return passed
}

func TestWaitersPassWhenItIsLowered(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a := w.gate(w.host("a"), barrier.WithID("migrator"))
		require.NoError(w, a.Wait(w.Context()), "it is down")
		require.NoError(w, a.Raise(w.Context()))
		require.NoError(w, a.Raise(w.Context()), "it is up")
		passed := make(chan error, 10)
		for range 10 {
			b := w.gate(w.host("b"))
			go func() { passed <- b.Wait(w.Context()) }()
		}
		time.Sleep(time.Minute)
		never(w, passed, "it is up")
		data, _, err := w.host("c").Get(w.Context(), gatePath)
		require.NoError(w, err)
		require.Equal(w, "migrator", string(data))
		require.NoError(w, a.Lower(w.Context()))
		for range 10 {
			require.NoError(w, now(w, passed))
		}
		require.NoError(w, a.Lower(w.Context()), "it is down")
	})
}

// One that is lowered and raised again before a waiter could look lets everyone pass who waited for
// it: by the transaction that created it.
func TestLoweredAndRaisedAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb := w.host("a"), w.host("b")
		a, b := w.gate(ha), w.gate(hb)
		require.NoError(w, a.Raise(w.Context()))
		passed := w.waits(b)
		lowered := b.Lowered(w.Context())
		synctest.Wait()
		slow := hb.Status().SessionID
		stop := w.server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == slow && r.Op != zktest.OpPing && r.Op != zktest.OpSync {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		require.NoError(w, a.Lower(w.Context()))
		require.NoError(w, a.Raise(w.Context()))
		require.NoError(w, within(w, time.Minute, passed))
		within(w, time.Minute, lowered)
		stop()
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(w, b.Wait(ctx), context.DeadlineExceeded, "another is up")
	})
}

func TestLowered(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		b := w.gate(w.host("a"))
		now(w, b.Lowered(w.Context())) // it is down
		require.NoError(w, b.Raise(w.Context()))
		ctx, cancel := context.WithCancel(w.Context())
		first, second := b.Lowered(ctx), b.Lowered(w.Context())
		never(w, first, "it is up")
		cancel()
		now(w, first)
		never(w, second, "it is up")
		require.NoError(w, b.Lower(w.Context()))
		now(w, second)
	})
}

func TestObserve(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.host("a")
		b := w.gate(h)
		ctx, cancel := context.WithCancel(w.Context())
		positions := b.Observe(ctx)
		require.Equal(w, barrier.Position{}, now(w, positions))
		require.NoError(w, b.Raise(w.Context()))
		require.Equal(w, barrier.Position{Raised: true}, now(w, positions))
		heal := h.machine.Partition()
		require.Equal(w, barrier.Position{Raised: true, Stale: true}, within(w, time.Minute, positions))
		heal()
		require.Equal(w, barrier.Position{Raised: true}, within(w, time.Minute, positions))
		require.NoError(w, w.gate(w.host("b")).Lower(w.Context()))
		require.Equal(w, barrier.Position{}, now(w, positions))
		cancel()
		closed(w, positions)
	})
}

// Nothing that a connection loses, or an epoch, lets a waiter pass; and it passes when the barrier
// was lowered meanwhile.
func TestWaitThroughLossesAndExpiry(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.host("a")
		b, other := w.gate(h), w.gate(w.host("b"))
		require.NoError(w, b.Raise(w.Context()))
		passed := w.waits(b)
		for range 5 {
			w.server.Disconnect(h.Status().SessionID)
			time.Sleep(2 * time.Second)
			w.server.Expire(h.Status().SessionID)
			time.Sleep(2 * time.Second)
			never(w, passed, "it is up")
		}
		heal := h.machine.Partition()
		require.NoError(w, other.Lower(w.Context()))
		time.Sleep(time.Minute)
		never(w, passed, "it can't know")
		heal()
		require.NoError(w, within(w, time.Minute, passed))
	})
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.host("a")
		b := w.gate(h)
		require.NoError(w, b.Raise(w.Context()))
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		err := b.Wait(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		var oe *session.OpError
		require.ErrorAs(w, err, &oe)
		require.Equal(w, gatePath, oe.Path)
		passed := w.waits(b)
		lowered := b.Lowered(w.Context())
		synctest.Wait()
		require.NoError(w, h.Close(w.Context()))
		require.ErrorIs(w, now(w, passed), session.ErrClosed)
		now(w, lowered)
		require.ErrorIs(w, b.Raise(w.Context()), session.ErrClosed)
		require.ErrorIs(w, b.Lower(w.Context()), session.ErrClosed)
	})
}

// Whichever reply or request is lost, it is up when Raise has returned, and down when Lower has.
func TestLostRepliesOfABarrier(t *testing.T) {
	t.Parallel()
	inEachFate(t, func(w *world, k int, strike func(h *host)) {
		h := w.host("a")
		b, other := w.gate(h), w.host("b")
		strike(h)
		for range 2 {
			require.NoError(w, b.Raise(w.Context()), "k=%d", k)
			_, up, err := other.Exists(w.Context(), gatePath)
			require.NoError(w, err)
			require.True(w, up, "k=%d", k)
			passed := w.waits(b)
			time.Sleep(time.Second)
			never(w, passed, "it is up")
			require.NoError(w, b.Lower(w.Context()), "k=%d", k)
			_, up, err = other.Exists(w.Context(), gatePath)
			require.NoError(w, err)
			require.False(w, up, "k=%d", k)
			require.NoError(w, within(w, time.Minute, passed))
		}
	})
}

// Waiting costs a look and a watch, however long it takes, and however many wait in one process.
func TestCostOfABarrier(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		b := w.gate(w.host("a"))
		other := w.gate(w.host("b"))
		require.NoError(w, other.Raise(w.Context()))
		w.server.ClearJournal()
		passed := w.waits(b)
		time.Sleep(10 * time.Minute)
		require.NoError(w, other.Lower(w.Context()))
		require.NoError(w, now(w, passed))
		requests, events := w.cost()
		require.LessOrEqual(w, requests, 4.0, "a look, which is a sync and a read, a watch, and the other's deletion")
		require.LessOrEqual(w, events, 1.0)
	})
}
