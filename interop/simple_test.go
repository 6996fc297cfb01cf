package interop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
)

// A lock that is one plain znode excludes whoever creates that znode, with whatever client.
func TestSimpleLockIsAnyonesZnode(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, map[string]maker{
			"java":    {driver: javaDriver, client: "zookeeper"},
			"curator": {driver: javaDriver, client: "curator"},
			"kazoo":   {driver: kazooDriver, client: "kazoo"},
			"c":       {driver: cDriver, client: "c"},
		}, func(t *testing.T, m maker) {
			path := pathFor(t)
			us, them := ourLock(t, alone, lock.New, address, path, lock.WithLayout(lock.Simple)), m.open(t, address)
			create := func() reply { return them.d.call(them.mine, "create", path, "them", "e") }

			require.Empty(t, create().err)
			waiting := begin(us)
			_, err := us.lock.TryLock(t.Context())
			require.ErrorIs(t, err, lock.ErrHeld)
			require.NoError(t, them.unmark(path))
			require.NoError(t, (<-waiting).err)
			require.NotEmpty(t, create().err, "ours holds")
			require.NoError(t, us.release())

			require.Empty(t, create().err)
			waiting = begin(us)
			require.NoError(t, them.end())
			require.NoError(t, (<-waiting).err)
			require.NoError(t, us.release())
			_, exists, err := s.Exists(t.Context(), path)
			require.NoError(t, err)
			require.False(t, exists)
		})
	})
}
