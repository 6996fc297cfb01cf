package presence_test

// Whether a znode exists that the session may not read.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/internal/presence"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

// A znode that may not be read exists, with each version of ZooKeeper.
func TestOfWhatMayNotBeRead(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				_, err := s.Create(t.Context(), "/a", nil, session.WithNodeACL(session.AnyoneACL(session.PermAll&^session.PermRead)...))
				require.NoError(t, err)
				for path, want := range map[string]bool{"/a": true, "/b": false} {
					exists, err := presence.Of(t.Context(), s, path)
					require.NoError(t, err)
					require.Equal(t, want, exists, path)
				}
				require.NoError(t, s.Close(t.Context()))
				_, err = presence.Of(t.Context(), s, "/a")
				require.ErrorIs(t, err, session.ErrClosed)
			}, zktest.WithVersion(version))
		})
	}
}
