// Possessions: what has a hold in it is taken where a hold is, and what has none is refused.

package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// grant is a possession as recipes have it.
type grant struct{ *session.Hold }

func TestWhatHasAHoldInItIsAPossession(t *testing.T) {
	inBubble(t, func(w *world) {
		s, _, h := w.holding()
		for name, p := range map[string]session.Possession{"a hold": h, "a grant": &grant{h}, "a grant by value": grant{h}} {
			require.Same(w, h, session.HoldOf(p), name)
			_, err := s.Multi(w.ctx, session.CheckOp(h.Path(), -1).Under(p))
			require.NoError(w, err, name)
			ctx, cancel := session.Within(w.ctx, p)
			require.NoError(w, ctx.Err(), name)
			cancel()
		}
		for name, p := range map[string]session.Possession{
			"nil": nil, "no hold": (*session.Hold)(nil), "no grant": (*grant)(nil), "a grant without a hold": &grant{}, "the same by value": grant{},
		} {
			require.Nil(w, session.HoldOf(p), name)
		}
	})
}
