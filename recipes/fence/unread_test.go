package fence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Who may not read a holder's znode can check its possession all the same, on each version: until
// it is over, and unless its name may come again.
func TestCheckWhatMayNotBeRead(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				holder, reader := t.Session(), t.Session()
				hide := func(path string) {
					_, err := holder.SetACL(bubble.Minute(t), path, session.AnyoneACL(session.PermDelete), -1)
					require.NoError(t, err)
				}
				q := take(t, holder)
				hide(q.Path)
				require.NoError(t, fence.Check(bubble.Minute(t), reader, q))
				require.NoError(t, holder.Delete(bubble.Minute(t), q.Path, -1))
				require.ErrorIs(t, fence.Check(bubble.Minute(t), reader, q), fence.ErrFenced)

				path, err := holder.Create(bubble.Minute(t), "/locks/simple", nil, session.Ephemeral())
				require.NoError(t, err)
				stat, _, err := holder.Exists(bubble.Minute(t), path)
				require.NoError(t, err)
				q.Path, q.Token = path, stat.Czxid
				hide(path)
				if err := fence.Check(bubble.Minute(t), reader, q); version == "3.8.0" {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, session.ErrNoAuth, "what cannot be known is told")
				}
			}, zktest.WithVersion(version))
		})
	}
}
