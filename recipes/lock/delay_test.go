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

// gone is when a znode was deleted.
func gone(w *world, h *bubble.Host, path string) <-chan time.Time {
	at := make(chan time.Time, 1)
	states := h.WatchData(w.Context(), path)
	go func() { // ends with the test
		for s := range states {
			if !s.Exists {
				at <- time.Now()
				return
			}
		}
	}()
	return at
}

// The dead holder's successor is granted exactly the delay after its end.
func TestDelayAfterADeath(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb := w.Host("a"), w.Host("b")
		a, b, c := w.delayed(ha), w.delayed(hb), w.delayed(w.Host("c"))
		g := w.held(a)
		w.queued(b)
		w.queued(c)
		end := gone(w, hb, g.Path())
		synctest.Wait()
		ha.Machine.Partition()
		died := bubble.Within(w, time.Minute, end)
		require.ErrorIs(w, g.Err(), session.ErrUntrusted, "that was before")
		_, err := w.delayed(hb).TryLock(w.Context())
		require.ErrorIs(w, err, lock.ErrHeld, "a try does not wait")
		next := bubble.Within(w, time.Minute, b.Acquired())
		require.Equal(w, lockDelay, time.Since(died))
		require.Greater(w, next.Token(), g.Token())

		began := time.Now()
		require.NoError(w, b.Release(w.Context()))
		last := bubble.Within(w, time.Second, c.Acquired())
		require.Zero(w, time.Since(began), "after a release at once")
		require.NoError(w, last.Release(w.Context()))
		require.NoError(w, c.Close(w.Context()))
		require.NotContains(w, w.Server.Dump(), "/held", "nothing is left of it")
	})
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

// However a possession ends but by its release, there is a delay: by expiry, by deletion, by a
// panic; also for who has lost it himself.
func TestDelayAfterEveryLoss(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, h *bubble.Host, l *lock.Lock, g *lock.Grant){
		"deleted": func(w *world, h *bubble.Host, _ *lock.Lock, g *lock.Grant) {
			require.NoError(w, h.Delete(w.Context(), g.Path(), -1))
		},
		"broken": func(w *world, h *bubble.Host, _ *lock.Lock, g *lock.Grant) {
			require.NoError(w, lock.Break(w.Context(), h.Session, g.Path(), 0))
		},
		"expired": func(w *world, h *bubble.Host, _ *lock.Lock, _ *lock.Grant) {
			w.Server.Expire(h.Status().SessionID)
		},
		"panicked": func(_ *world, _ *bubble.Host, l *lock.Lock, _ *lock.Grant) { l.Crash("a bug") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				ha := w.Host("a")
				a, b := w.delayed(ha), w.delayed(w.Host("b"))
				g := w.granted(a)
				w.queued(b)
				began := time.Now()
				end(w, ha, a, g)
				bubble.Within(w, time.Minute, g.Done())
				next := bubble.Within(w, time.Minute, b.Acquired())
				require.GreaterOrEqual(w, time.Since(began), lockDelay)
				require.Less(w, time.Since(began), lockDelay+time.Second)
				require.NoError(w, next.Release(w.Context()))
				bubble.Within(w, time.Second, a.Acquired())
			})
		})
	}
}

// The one that waits dies as well: the next waits for as long again, and no longer.
func TestDelayOfOneWhoDiesInIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb, hc := w.Host("a"), w.Host("b"), w.Host("c")
		a, b, c := w.delayed(ha), w.delayed(hb), w.delayed(hc)
		g := w.held(a)
		w.queued(b)
		w.queued(c)
		require.NoError(w, ha.Delete(w.Context(), g.Path(), -1))
		time.Sleep(lockDelay / 2)
		places, err := c.Contenders(w.Context())
		require.NoError(w, err)
		require.Len(w, places, 2)
		began := time.Now()
		require.NoError(w, hc.Delete(w.Context(), places[0].Path, -1))
		bubble.Within(w, time.Minute, c.Acquired())
		require.Equal(w, lockDelay, time.Since(began))
		bubble.Never(w, b.Acquired(), "two hold")
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

func TestDelayBadInput(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		_, err := lock.New(h.Session, path, lock.WithDelay(-1))
		require.ErrorContains(w, err, "WithDelay: d: negative")
		for _, layout := range []lock.Layout{lock.Simple, lock.Curator, lock.Kazoo, lock.JavaWriteLock, lock.GoZooKeeper} {
			_, err = lock.New(h.Session, path, lock.WithDelay(time.Second), lock.WithLayout(layout))
			require.ErrorIs(w, err, session.ErrUnsupported, layout)
		}
		_, err = lock.NewWrite(h.Session, path, lock.WithDelay(time.Second))
		require.ErrorIs(w, err, session.ErrUnsupported)
		_, err = lock.NewSemaphore(h.Session, path, 3, lock.WithDelay(time.Second))
		require.ErrorIs(w, err, session.ErrUnsupported)
		_, err = lock.New(h.Session, path, lock.WithDelay(0), lock.WithLayout(lock.Kazoo))
		require.NoError(w, err, "none at all")
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

// Closing the lock is a release; closing the session under it is not.
func TestDelayAndClose(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb := w.Host("a"), w.Host("b")
		a, b := w.delayed(ha), w.delayed(w.Host("c"))
		w.held(a)
		w.queued(b)
		began := time.Now()
		require.NoError(w, a.Close(w.Context()))
		bubble.Within(w, time.Second, b.Acquired())
		require.Zero(w, time.Since(began))
		require.NoError(w, b.Release(w.Context()))

		w.held(w.delayed(hb))
		w.queued(b)
		began = time.Now()
		require.NoError(w, hb.Close(w.Context()))
		bubble.Within(w, time.Minute, b.Acquired())
		require.Equal(w, lockDelay, time.Since(began))
	})
}
