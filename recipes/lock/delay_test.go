package lock_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

const lockDelay = 15 * time.Second

func (w *world) delayed(h *bubble.Host) *lock.Lock {
	w.Helper()
	return w.lock(h, lock.WithDelay(lockDelay))
}

// One who comes later, when nobody was there to see the end, waits for as long from when it finds
// the record.
func TestDelayForOneWhoComesLater(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha := w.Host("a")
		a := w.delayed(ha)
		w.held(a)
		ha.Machine.Partition()
		time.Sleep(time.Hour)
		require.Contains(w, w.Server.Dump(), path+"/held")
		require.Zero(w, w.nodes())
		b := w.delayed(w.Host("b"))
		_, err := b.TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld)
		require.Zero(w, w.nodes(), "nothing is left of the try")
		began := time.Now()
		g := w.held(b)
		require.Equal(w, lockDelay, time.Since(began))
		require.NoError(w, g.Release(w.Context()))
	})
}

// Giving up the wait, whether it is over or not, leaves no znode, and the record as it is.
func TestAContextThatEndsInTheDelay(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb := w.Host("a"), w.Host("b")
		g := w.held(w.delayed(ha))
		require.NoError(w, ha.Delete(w.Context(), g.Path(), -1))
		b := w.delayed(hb)
		ctx, cancel := context.WithTimeout(w.Context(), lockDelay/2)
		defer cancel()
		_, err := b.Lock(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		synctest.Wait()
		require.Zero(w, w.nodes())
		began := time.Now()
		require.NoError(w, w.held(b).Release(w.Context()))
		require.Equal(w, lockDelay, time.Since(began))
		began = time.Now()
		require.NoError(w, w.held(b).Release(w.Context()))
		require.Zero(w, time.Since(began))
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
		got := make(chan *lock.Grant, 1) // not a standing intent: that would stand again, and perhaps before the next one
		go func() {
			g, err := with.Lock(w.Context())
			if err != nil {
				w.Error(err)
			}
			got <- g
		}()
		synctest.Wait()
		require.NoError(w, h.Delete(w.Context(), g.Path(), -1))
		began := time.Now()
		second := bubble.Within(w, time.Minute, got)
		require.Zero(w, time.Since(began), "it left no record")
		require.NoError(w, h.Delete(w.Context(), second.Path(), -1))
		w.held(without)
		require.Zero(w, time.Since(began))
	})
}

// Whichever reply of a cycle is lost: after a release there is no delay, after a death there is.
func TestDelayLostReplies(t *testing.T) {
	t.Parallel()
	inEachFate(t, func(w *world, k int, strike func(s *session.Session)) {
		ha, hb := w.Host("a"), w.Host("b")
		a, b := w.delayed(ha), w.delayed(hb)
		dead := w.held(b)
		require.NoError(w, hb.Delete(w.Context(), dead.Path(), -1))
		synctest.Wait()
		strike(ha.Session)
		began := time.Now()
		ctx, cancel := context.WithTimeout(w.Context(), 2*time.Minute)
		defer cancel()
		g, err := a.Lock(ctx)
		require.NoError(w, err, "k=%d", k)
		require.GreaterOrEqual(w, time.Since(began), lockDelay, "k=%d", k)
		require.Contains(w, w.Server.Dump(), path+"/held", "k=%d", k)
		err = g.Release(ctx)
		if err != nil { // lost, with the reply that was
			require.ErrorIs(w, err, session.ErrLost, "k=%d", k)
		}
		synctest.Wait()
		again := w.held(b)
		if err == nil {
			require.NotContains(w, w.Server.Dump(), fmt.Sprintf("/held %q", strconv.FormatInt(g.Token(), 10)), "k=%d: the record of one that was released", k)
		}
		require.NoError(w, again.Release(ctx))
		require.NoError(w, a.Close(ctx))
		require.NoError(w, b.Close(ctx))
		require.Zero(w, w.nodes(), "k=%d", k)
		require.NotContains(w, w.Server.Dump(), "/held", "k=%d", k)
	})
}

// The record that somebody may not write is an error, and not a wait.
func TestDelayWithoutTheRight(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		_, err := h.Create(w.Context(), path, nil, session.Parents())
		require.NoError(w, err)
		_, err = h.Create(w.Context(), path+"/held", []byte("1"), session.NodeACL(session.AnyoneACL(session.PermRead)...))
		require.NoError(w, err)
		l := w.delayed(h)
		_, err = l.Lock(w.Context())
		require.ErrorIs(w, err, session.ErrNoAuth)
		synctest.Wait()
		require.Zero(w, w.nodes())
	})
}

func TestDelayOnRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	e := ensemble.Start(t, 1)
	const d = 2 * time.Second
	s, other := bubble.Open(t, e.Servers()), bubble.Open(t, e.Servers())
	a, err := lock.New(s, path, lock.WithDelay(d))
	require.NoError(t, err)
	b, err := lock.New(other, path, lock.WithDelay(d))
	require.NoError(t, err)
	g, err := a.Lock(t.Context())
	require.NoError(t, err)
	b.Acquire()
	inLine(t, b)
	began := time.Now()
	require.NoError(t, other.Delete(t.Context(), g.Path(), -1))
	soon(t, g.Done(), "the end")
	next := soon(t, b.Acquired(), "after the delay")
	require.GreaterOrEqual(t, time.Since(began), d)
	require.Greater(t, next.Token(), g.Token())
	a.Acquire()
	inLine(t, a)
	began = time.Now()
	require.NoError(t, next.Release(t.Context()))
	soon(t, a.Acquired(), "after a release")
	require.Less(t, time.Since(began), d)
	release(t, b)
	release(t, a)
	_, exists, err := s.Exists(t.Context(), path+"/held")
	require.NoError(t, err)
	require.False(t, exists)
}
