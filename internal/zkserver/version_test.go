package zkserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// everyVersion runs a test as each version, in virtual time.
func everyVersion(t *testing.T, test func(t *testing.T, version string, s *zkserver.Server)) {
	t.Helper()
	t.Parallel()
	for _, version := range zkserver.Versions() {
		t.Run(version, func(t *testing.T) {
			world(t, zkserver.Config{Version: version, Super: zkserver.Digest("super:root")}, func(t *testing.T, s *zkserver.Server) { test(t, version, s) })
		})
	}
}

func TestAVersionThatIsNotKnownIsRefused(t *testing.T) {
	t.Parallel()
	_, err := zkserver.New(zkserver.Config{Version: "3.4.14"})
	require.ErrorContains(t, err, `version "3.4.14": not one of 3.8.0, 3.8.4, 3.9.2`)
}

// exists tells a client that may not read a znode of it before 3.8.4, and refuses after; then it leaves no watch.
func TestExistsNeedsReadSince384(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string, s *zkserver.Server) {
		c, other := join(t, s), join(t, s)
		secret := create("/secret", 0)
		secret.ACL = []jute.ACL{{Perms: jute.PermAll &^ jute.PermRead, Scheme: "world", ID: "anyone"}}
		c.must(secret)
		exists := jute.Request{Op: jute.OpExists, Path: "/secret", Watch: true}
		want, watches := jute.NoAuth, 0
		if version == "3.8.0" {
			want, watches = jute.OK, 1
		}
		require.Equal(t, want, other.do(exists).Err)
		info, _ := s.Session(other.id)
		require.Equal(t, watches, info.Watches)
		require.Equal(t, jute.NoNode, other.do(jute.Request{Op: jute.OpExists, Path: "/none", Watch: true}).Err, "what isn't there needs no permission")
		other.must(jute.Request{Op: jute.OpSetAuth, Xid: jute.XidAuth, Scheme: "digest", Data: []byte("super:root")})
		other.must(exists)
	})
}

// What else the versions differ in, each with the answer of 3.8.0, of 3.8.4 and of 3.9.2.
func TestVersionsDifferInWrites(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string, s *zkserver.Server) {
		pick := func(of380, of384, of392 any) any {
			return map[string]any{"3.8.0": of380, "3.8.4": of384, "3.9.2": of392}[version]
		}
		c := join(t, s)
		create2 := create("/two", 0)
		create2.Op = jute.OpCreate2
		result := c.must(multi(create2)).Results[0]
		require.Equal(t, pick(jute.OpCreate, jute.OpCreate2, jute.OpCreate2), result.Op)
		require.Equal(t, pick(false, true, true), result.Stat.Czxid != 0 && result.Op == jute.OpCreate2)
		bad := c.do(multi(create("/x", 0), create("/y", 9)))
		require.Equal(t, pick(jute.OK, jute.MarshallingError, jute.MarshallingError), bad.Err)
		require.Equal(t, pick(jute.InvalidACL, jute.InvalidACL, jute.NoNode), c.do(jute.Request{Op: jute.OpCreate, Path: "/none/x"}).Err)
		require.Equal(t, pick(jute.InvalidACL, jute.InvalidACL, jute.NoNode), c.do(jute.Request{Op: jute.OpSetACL, Path: "/none", Version: -1}).Err)
		require.Equal(t, pick(jute.MarshallingError, jute.MarshallingError, jute.NoWatcher),
			c.do(jute.Request{Op: jute.OpRemoveWatches, Path: "/two", Kind: 4}).Err)
		check := c.do(jute.Request{Op: jute.OpCheck, Path: "/two", Version: -1})
		require.Equal(t, pick(jute.OK, jute.OK, jute.Unimplemented), check.Err)
		if version == "3.9.2" {
			c.over()
		}
	})
}
