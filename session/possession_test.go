// Possessions: what has a hold in it is taken where a hold is, and what has none is refused.

package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// grant is a possession as recipes have it; own and fake are what an application makes of one.
type (
	grant struct{ *session.Hold }
	own   struct{ *grant }
	fake  struct{ session.Possession }
)

func TestWhatHasAHoldInItIsAPossession(t *testing.T) {
	inBubble(t, func(w *world) {
		s, _, h := w.holding()
		for name, p := range map[string]session.Possession{"a hold": h, "a grant": &grant{h}, "a grant by value": grant{h}, "a type of one's own": &own{&grant{h}}, "a fake": fake{h}} {
			require.Same(w, h, session.HoldOf(p), name)
			_, err := s.Multi(w.ctx, session.CheckOp(h.Path(), -1).Under(p))
			require.NoError(w, err, name)
			ctx, cancel := session.Within(w.ctx, p)
			require.NoError(w, ctx.Err(), name)
			cancel()
		}
		for name, p := range map[string]session.Possession{
			"nil": nil, "no hold": (*session.Hold)(nil), "no grant": (*grant)(nil), "a grant without a hold": &grant{}, "the same by value": grant{},
			"a type of one's own without a grant": own{}, "the same by pointer": &own{}, "an empty fake": fake{}, "a fake of nothing": fake{(*grant)(nil)},
		} {
			require.Nil(w, session.HoldOf(p), name)
		}
	})
}
