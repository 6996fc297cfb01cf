package zkserver_test

// Differences between versions of ZooKeeper, but for watches.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// exists tells a client that may not read a znode of it before 3.8.4, and refuses after; then it
// leaves no watch.
func TestExistsNeedsReadSince384(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string, s *zkserver.Server) {
		c, other := join(t, s), join(t, s)
		c.must(guarded("/secret", jute.PermAll&^jute.PermRead))
		exists := look(jute.OpExists, "/secret")
		want, watches := jute.NoAuth, 0
		if version == "3.8.0" {
			want, watches = jute.OK, 1
		}
		require.Equal(t, want, other.do(exists).Err)
		info, _ := s.Session(other.id)
		require.Equal(t, watches, info.Watches)
		require.Equal(t, jute.NoNode, other.do(look(jute.OpExists, "/none")).Err, "what isn't there needs no permission")
		other.auth("digest", "super:root")
		other.must(exists)
	})
}

// Other differences, each with the answer of 3.8.0, of 3.8.4, of 3.9.2 and of 3.9.6.
func TestVersionsDifferInWrites(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string, s *zkserver.Server) {
		pick := func(of380, of384, of392, of396 any) any {
			return map[string]any{"3.8.0": of380, "3.8.4": of384, "3.9.2": of392, "3.9.6": of396}[version]
		}
		c := join(t, s)
		result := c.must(multi(as(jute.OpCreate2, create("/two", 0)))).Results[0]
		require.Equal(t, pick(jute.OpCreate, jute.OpCreate2, jute.OpCreate2, jute.OpCreate2), result.Op)
		require.Equal(t, pick(false, true, true, true), result.Stat.Czxid != 0 && result.Op == jute.OpCreate2)
		bad := c.do(multi(create("/x", 0), create("/y", 9)))
		require.Equal(t, pick(jute.OK, jute.MarshallingError, jute.MarshallingError, jute.MarshallingError), bad.Err)
		ttl := c.do(multi(remove("/none"), create("/x", jute.FlagPersistentTTL)))
		require.Equal(t, pick(jute.OK, jute.MarshallingError, jute.MarshallingError, jute.MarshallingError), ttl.Err, "it has no TTL")
		require.Equal(t, jute.MarshallingError, c.do(multi(create("/x", 0), set(jute.Null, ""))).Err, "in all versions; a real server adds an empty list")
		for _, q := range []jute.Request{{Op: jute.OpCreate, Path: "/none/x"}, {Op: jute.OpSetACL, Path: "/none", Version: -1}} {
			require.Equal(t, jute.InvalidACL, c.do(q).Err, "%s: before that there is no znode, in all versions", q.Op)
		}
		under := c.must(multi(as(jute.OpCreateContainer, create("/odd", jute.FlagEphemeral)), create("/odd/child", 0))).Results[1]
		require.Equal(t, jute.NoChildrenForEphemerals, under.Err, "the flags count within a multi")
		address := create("/address", 0)
		address.ACL = []jute.ACL{{Perms: jute.PermAll, Scheme: "ip", ID: "fe80::/10"}}
		require.Equal(t, pick(jute.InvalidACL, jute.InvalidACL, jute.InvalidACL, jute.OK), c.do(address).Err)
	})
}

// A check or a deleteContainer of a client's is answered, or refused, or the end of the connection.
func TestVersionsDifferInRequestsThatAreNotForClients(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string, s *zkserver.Server) {
		c := join(t, s)
		c.create("/a", 0)
		check := c.do(jute.Request{Op: jute.OpCheck, Path: "/a", Version: -1})
		if version < "3.9" {
			require.Equal(t, jute.OK, check.Err)
		} else {
			require.Equal(t, jute.Unimplemented, check.Err)
			c.over()
		}
		c = join(t, s)
		zxid := c.must(set("/a", "")).Zxid
		reap := jute.Request{Op: jute.OpDeleteContainer, Path: "/a"}
		switch version {
		case "3.8.0", "3.8.4":
			p := c.do(reap)
			require.Equal(t, jute.BadArguments, p.Err)
			require.Equal(t, zxid+1, p.Zxid)
		case "3.9.2":
			p := c.do(reap)
			require.Equal(t, jute.MarshallingError, p.Err)
			require.Equal(t, zxid, p.Zxid)
		default:
			_, err := c.conn.Write(request(reap))
			require.NoError(t, err)
			c.over()
		}
	})
}
