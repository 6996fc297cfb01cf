package zktest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// A connect string with a path makes that path the root, of both servers alike: what is created
// there, watched there, and seen from outside.
func TestNamespacesOfConnectStringsAreThoseOfTheRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	real := ensemble.Start(t, 1)
	both(t, zktest.Start(t, asVersionOf(t, real)).Servers(), real.Servers(), func(t *testing.T, servers []string, say func(string, ...any)) {
		ctx := t.Context()
		outside, err := session.Open(ctx, servers)
		require.NoError(t, err)
		defer outside.Close(ctx)
		require.NoError(t, outside.EnsurePath(ctx, "/tenants/one"))
		inside, err := session.Open(ctx, []string{servers[0] + "/tenants/one"})
		require.NoError(t, err)
		defer inside.Close(ctx)
		watch := inside.WatchData(ctx, "/a")
		require.False(t, (<-watch).Exists)

		path, err := inside.Create(ctx, "/a", []byte("x"), session.Ephemeral())
		say("%s %v", path, err)
		seen := <-watch
		say("%v %s", seen.Exists, seen.Bytes)
		data, stat, err := outside.Get(ctx, "/tenants/one/a")
		say("%s %v %v", data, stat.EphemeralOwner == inside.Status().SessionID, err)
		_, err = inside.Create(ctx, "/missing/a", nil)
		say("%v", err)
		_, found, err := inside.Exists(ctx, "/tenants")
		say("%v %v", found, err)
		names, _, err := inside.Children(ctx, "/")
		say("%v %v", names, err)
	})
}
