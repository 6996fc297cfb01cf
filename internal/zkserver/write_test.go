package zkserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

func TestWrites(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		plain := c.create("/a", jute.FlagPersistent)
		require.Equal(t, "/a", plain.Path)
		require.EqualValues(t, 2, plain.Zxid, "the session was the first transaction")
		for _, op := range []jute.Op{jute.OpCreate2, jute.OpCreateContainer} {
			q := create("/"+op.String(), 0)
			q.Op = op
			require.Equal(t, c.must(q).Zxid, c.must(jute.Request{Op: jute.OpExists, Path: q.Path}).Stat.Czxid)
		}
		ttl := create("/ttl", jute.FlagPersistentTTL)
		ttl.Op, ttl.TTL = jute.OpCreateTTL, 1000
		require.EqualValues(t, 4, c.must(ttl).Stat.DataLength)
		require.EqualValues(t, 1, c.must(set("/a", "more")).Stat.Version)
		require.EqualValues(t, 1, c.must(jute.Request{Op: jute.OpSetACL, Path: "/a", ACL: jute.OpenACL(), Version: -1}).Stat.Aversion)
		require.Equal(t, "/a/n-0000000000", c.create("/a/n-", jute.FlagEphemeralSequential).Path)
		require.Equal(t, c.id, c.must(jute.Request{Op: jute.OpExists, Path: "/a/n-0000000000"}).Stat.EphemeralOwner)
	})
}

// A failed write changes nothing, and uses up a zxid.
func TestFailedWrites(t *testing.T) {
	world(t, zkserver.Config{NoTTL: true, Version: "3.8.0"}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		c.create("/a", 0)
		last := c.create("/a/b", jute.FlagEphemeral).Zxid
		tree := written(t, s)
		ttl := create("/ttl", jute.FlagPersistentTTL)
		ttl.Op, ttl.TTL = jute.OpCreateTTL, 1000
		for _, f := range []struct {
			q    jute.Request
			want jute.Code
		}{
			{create("/a", 0), jute.NodeExists},
			{create("/x/y", 0), jute.NoNode},
			{create("/a/b/c", 0), jute.NoChildrenForEphemerals},
			{create("/a/", 0), jute.BadArguments},
			{create("a", 0), jute.BadArguments},
			{create("/c", 9), jute.BadArguments},
			{jute.Request{Op: jute.OpCreate, Path: "/c"}, jute.InvalidACL},
			{jute.Request{Op: jute.OpCreate, Path: jute.Null, ACL: jute.OpenACL()}, jute.MarshallingError},
			{ttl, jute.Unimplemented},
			{remove("/x"), jute.NoNode},
			{remove("/a"), jute.NotEmpty},
			{remove("/zookeeper"), jute.BadArguments},
			{jute.Request{Op: jute.OpDelete, Path: "/a/b", Version: 5}, jute.BadVersion},
			{set("/x", ""), jute.NoNode},
			{jute.Request{Op: jute.OpSetData, Path: "/a", Version: 5}, jute.BadVersion},
			{jute.Request{Op: jute.OpSetACL, Path: "/a", ACL: jute.OpenACL(), Version: 5}, jute.BadVersion},
			{jute.Request{Op: jute.OpCheck, Path: "/a", Version: 5}, jute.BadVersion},
			{jute.Request{Op: jute.OpDeleteContainer, Path: "/a"}, jute.BadArguments},
			{jute.Request{Op: jute.OpReconfig, Names: []string{"", "", ""}}, jute.ReconfigDisabled},
		} {
			p := c.do(f.q)
			require.Equal(t, f.want, p.Err, "%v %q", f.q.Op, f.q.Path)
			last++
			require.Equal(t, last, p.Zxid, "%v %q", f.q.Op, f.q.Path)
		}
		require.Equal(t, tree, written(t, s))
	})
}
