package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// Whoever loses one part has not given up the others, though these end with it: their delays apply.
// If all were released, or a part by itself, there is none.
func TestDelayOfTheOtherPartsOfAMulti(t *testing.T) {
	t.Parallel()
	deleted := func(w *world, h *bubble.Host, g *lock.MultiGrant) {
		require.NoError(w, h.Delete(w.Context(), g.Grants()[0].Path(), -1))
		<-g.Done()
	}
	for name, c := range map[string]struct {
		end   func(w *world, h *bubble.Host, g *lock.MultiGrant)
		delay time.Duration
	}{
		"lost": {deleted, lockDelay},
		"lost, and released": {func(w *world, h *bubble.Host, g *lock.MultiGrant) {
			lingering(g.Hold)
			deleted(w, h, g)
			require.ErrorIs(w, g.Release(w.Context()), session.ErrDeleted)
		}, lockDelay},
		"released": {func(w *world, _ *bubble.Host, g *lock.MultiGrant) {
			require.NoError(w, g.Release(w.Context()))
		}, 0},
		"a part released": {func(w *world, _ *bubble.Host, g *lock.MultiGrant) {
			require.NoError(w, g.Grants()[0].Release(w.Context()))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				ha, hb := w.Host("a"), w.Host("b")
				m, err := lock.NewMulti(w.at(hb, "/before"), w.delayed(ha), w.at(hb, "/m/behind"))
				require.NoError(w, err)
				g, err := m.Lock(w.Context())
				require.NoError(w, err)
				b := w.queued(w.delayed(hb))
				began := time.Now()
				c.end(w, hb, g)
				next := bubble.Within(w, time.Minute, b.Acquired())
				require.Equal(w, c.delay, time.Since(began))
				require.NoError(w, next.Release(w.Context()))
			})
		})
	}
}
