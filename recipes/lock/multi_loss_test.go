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
