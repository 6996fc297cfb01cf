package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// Loss of one ends the whole: by deletion, by release, by expiry of its session. The others are
// given up by themselves.
func TestLossOfOneEndsTheMulti(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, victim *bubble.Host, g *lock.MultiGrant) error{
		"deleted": func(w *world, h *bubble.Host, g *lock.MultiGrant) error {
			require.NoError(w, h.Delete(w.Context(), g.Grants()[1].Path(), -1))
			return session.ErrDeleted
		},
		"expired": func(w *world, h *bubble.Host, _ *lock.MultiGrant) error {
			w.Server.Expire(h.Status().SessionID)
			return session.ErrLost // as expired or as deleted, whichever is heard of first
		},
		"broken": func(w *world, h *bubble.Host, g *lock.MultiGrant) error {
			require.NoError(w, lock.Break(w.Context(), h.Session, g.Grants()[1].Path(), time.Second))
			return session.ErrDeleted
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				ha, hb, hc := w.Host("a"), w.Host("b"), w.Host("c")
				m, err := lock.NewMulti(w.at(ha, "/m/c"), w.at(hb, "/m/b"), w.at(ha, "/m/a"))
				require.NoError(w, err)
				g, err := m.Lock(w.Context())
				require.NoError(w, err)
				cause := end(w, hb, g)
				bubble.Within(w, time.Second, g.Done())
				require.ErrorIs(w, g.Err(), session.ErrLost)
				require.ErrorIs(w, g.Err(), cause)
				require.ErrorIs(w, context.Cause(g.Context()), cause)
				synctest.Wait()
				require.ErrorIs(w, g.Grants()[0].Err(), session.ErrReleased)
				require.ErrorIs(w, g.Grants()[1].Err(), cause)
				require.ErrorIs(w, g.Grants()[2].Err(), session.ErrReleased)
				require.Zero(w, w.standing(), "the others are given up")
				require.ErrorIs(w, g.Release(w.Context()), cause)
				next, _ := w.multi(hc, "/m/a", "/m/b", "/m/c")
				second, err := next.TryLock(w.Context())
				require.NoError(w, err)
				for i, part := range second.Grants() {
					require.Greater(w, part.Token(), g.Grants()[i].Token())
				}
			})
		})
	}
}

func TestAPartReleasedByItselfEndsTheMulti(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		m, _ := w.multi(w.Host("a"), "/m/a", "/m/b")
		g, err := m.Lock(w.Context())
		require.NoError(w, err)
		require.NoError(w, g.Grants()[1].Release(w.Context()))
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrReleased)
		synctest.Wait()
		require.Zero(w, w.standing())
		require.NoError(w, g.Release(w.Context()))
	})
}

// In a partition everything ends at the same instant: when trust runs out.
func TestMultiEndsWithTrust(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		m, _ := w.multi(h, "/m/a", "/m/b")
		g, err := m.Lock(w.Context())
		require.NoError(w, err)
		time.Sleep(time.Minute)
		until := h.Status().TrustedUntil
		heal := h.Machine.Partition()
		defer heal()
		bubble.Within(w, time.Minute, g.Done())
		require.True(w, time.Now().Equal(h.Status().TrustedUntil) || !time.Now().Before(until))
		now := time.Now()
		for _, part := range g.Grants() {
			bubble.Within(w, time.Second, part.Done())
			require.Zero(w, time.Since(now))
			require.ErrorIs(w, part.Err(), session.ErrUntrusted)
		}
		require.ErrorIs(w, g.Err(), session.ErrUntrusted)
	})
}

// A part lost while it waits for the next is taken again, and the caller waits on.
func TestMultiTakesALostPartAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		ha, hb, hc := w.Host("a"), w.Host("b"), w.Host("c")
		m, err := lock.NewMulti(w.at(ha, "/m/a"), w.at(hc, "/m/b"), w.at(ha, "/m/c"))
		require.NoError(w, err)
		held := w.held(w.at(hb, "/m/c"))
		got := make(chan *lock.MultiGrant, 1)
		go func() {
			g, err := m.Lock(w.Context())
			if err != nil {
				w.Error(err)
			}
			got <- g
		}()
		synctest.Wait()
		require.Equal(w, 4, w.standing())
		before := w.Server.Dump()
		w.Server.Expire(hc.Status().SessionID)
		time.Sleep(10 * time.Second)
		require.Equal(w, 4, w.standing(), "in line again")
		require.NotEqual(w, before, w.Server.Dump())
		require.NoError(w, held.Release(w.Context()))
		g := bubble.Within(w, time.Minute, got)
		require.True(w, g.Valid())
		require.Greater(w, g.Grants()[1].Token(), held.Token(), "taken anew")
		require.Less(w, g.Grants()[0].Token(), g.Grants()[1].Token(), "kept from before")
		require.NoError(w, g.Release(w.Context()))
		require.Zero(w, w.standing())
	})
}

func TestAPanicOfOnePartEndsTheMulti(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		m, locks := w.multi(w.Host("a"), "/m/a", "/m/b")
		g, err := m.Lock(w.Context())
		require.NoError(w, err)
		locks[1].Crash("a bug")
		bubble.Within(w, time.Second, g.Done())
		require.ErrorIs(w, g.Err(), session.ErrRestarted)
		again, err := m.Lock(w.Context())
		require.NoError(w, err)
		require.Equal(w, 2, w.standing())
		require.Greater(w, again.Token(), g.Token())
		require.NoError(w, again.Release(w.Context()))
	})
}

// Whichever reply of a whole cycle is lost, all are held together and nothing is left behind.
func TestMultiLostReplies(t *testing.T) {
	t.Parallel()
	inEachFate(t, func(w *world, k int, strike func(s *session.Session)) {
		ha, hb := w.Host("a"), w.Host("b")
		m, _ := w.multi(ha, "/m/b", "/m/a")
		strike(ha.Session)
		g, err := m.Lock(w.Context())
		require.NoError(w, err, "k=%d", k)
		require.Equal(w, 2, w.standing(), "k=%d", k)
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		if err := g.Release(ctx); err != nil {
			require.ErrorIs(w, err, session.ErrLost, "k=%d", k)
		}
		rival, _ := w.multi(hb, "/m/a", "/m/b")
		second, err := rival.Lock(ctx)
		require.NoError(w, err, "k=%d", k)
		require.Equal(w, 2, w.standing(), "k=%d: something was left behind", k)
		require.NoError(w, second.Release(ctx))
	})
}
