package zkserver_test

// Differences between versions of ZooKeeper; those of watches are in watch_test.go. The names in
// the comments are fields of dialect, in version.go. Helpers: client_test.go.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// Up to 3.8.0 exists tells a client that may not read a znode of it, and leaves a watch; from 3.8.4
// on it refuses, and leaves none (existsNeedsRead).
func TestExistsNeedsReadSince384(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string, s *zkserver.Server) {
		c, other := join(t, s), join(t, s)
		c.must(guarded("/secret", jute.PermAll&^jute.PermRead))
		exists := readAndWatch(jute.OpExists, "/secret")
		want, watches := jute.NoAuth, 0
		if version == "3.8.0" {
			want, watches = jute.OK, 1
		}
		require.Equal(t, want, other.do(exists).Err)
		info, _ := s.Session(other.id)
		require.Equal(t, watches, info.Watches)
		require.Equal(t, jute.NoNode, other.do(readAndWatch(jute.OpExists, "/none")).Err, "what isn't there needs no permission")
		other.auth("digest", "super:root")
		other.must(exists)
	})
}

// Writes that one version takes and another refuses or answers otherwise.
func TestVersionsDifferInWrites(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string, s *zkserver.Server) {
		create2, bad, ipv6 := jute.OpCreate2, jute.MarshallingError, jute.InvalidACL
		if version == "3.8.0" { // without typedMulti
			create2, bad = jute.OpCreate, jute.OK // a multi that was read is answered with OK: its results tell
		}
		if version == "3.9.6" { // ipv6ACL
			ipv6 = jute.OK
		}
		c := join(t, s)
		result := c.must(multi(as(jute.OpCreate2, create("/two", 0)))).Results[0]
		require.Equal(t, create2, result.Op)
		require.Equal(t, create2 == jute.OpCreate2, result.Stat.Czxid != 0)
		require.Equal(t, bad, c.do(multi(create("/x", 0), create("/y", 9))).Err, "flags that there are not")
		require.Equal(t, bad, c.do(multi(remove("/none"), create("/x", jute.FlagPersistentTTL))).Err, "a TTL that create can't have")
		require.Equal(t, jute.MarshallingError, c.do(multi(create("/x", 0), set(jute.Null, ""))).Err, "in all versions; a real server adds an empty list")
		for _, q := range []jute.Request{{Op: jute.OpCreate, Path: "/none/x"}, {Op: jute.OpSetACL, Path: "/none", Version: -1}} {
			require.Equal(t, jute.InvalidACL, c.do(q).Err, "%s: before that there is no znode, in all versions", q.Op)
		}
		under := c.must(multi(as(jute.OpCreateContainer, create("/odd", jute.FlagEphemeral)), create("/odd/child", 0))).Results[1]
		require.Equal(t, jute.NoChildrenForEphemerals, under.Err, "the flags count within a multi")
		address := create("/address", 0)
		address.ACL = []jute.ACL{{Perms: jute.PermAll, Scheme: "ip", ID: "fe80::/10"}}
		require.Equal(t, ipv6, c.do(address).Err)
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
		} else { // noLoneCheck
			require.Equal(t, jute.Unimplemented, check.Err)
			c.over()
		}
		c = join(t, s)
		zxid := c.must(set("/a", "")).Zxid
		reap := jute.Request{Op: jute.OpDeleteContainer, Path: "/a"}
		switch version {
		case "3.8.0", "3.8.4": // refused like a write: with a number
			p := c.do(reap)
			require.Equal(t, jute.BadArguments, p.Err)
			require.Equal(t, zxid+1, p.Zxid)
		case "3.9.2": // readsFirst: without
			p := c.do(reap)
			require.Equal(t, jute.MarshallingError, p.Err)
			require.Equal(t, zxid, p.Zxid)
		default: // noLoneReaping
			_, err := c.conn.Write(request(reap))
			require.NoError(t, err)
			c.over()
		}
	})
}
