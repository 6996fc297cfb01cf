package zkserver_test

// Reads, writes and transactions of a client: one table for what succeeds, one for what fails.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

func TestReadsShowAZnodeAndUseNoNumberUp(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		c.create("/a", 0)
		zxid := c.create("/a/b", 0).Zxid
		for _, q := range []jute.Request{{Op: jute.OpExists}, {Op: jute.OpGetData}, {Op: jute.OpGetChildren}, {Op: jute.OpGetChildren2}, {Op: jute.OpGetACL}} {
			q.Path = "/a"
			p := c.must(q)
			require.Equal(t, zxid, p.Zxid, "a read shows how far the server is, and uses nothing up")
			if q.Op != jute.OpGetChildren {
				require.EqualValues(t, 1, p.Stat.NumChildren, "%v", q.Op)
			}
			q.Path = "/x"
			require.Equal(t, jute.NoNode, c.do(q).Err, "%v", q.Op)
			q.Path = jute.Null
			require.Equal(t, jute.MarshallingError, c.do(q).Err, "%v", q.Op)
		}
		require.Equal(t, "data", string(c.must(jute.Request{Op: jute.OpGetData, Path: "/a"}).Data))
		require.Equal(t, []string{"b"}, c.must(jute.Request{Op: jute.OpGetChildren, Path: "/a"}).Names)
		require.Equal(t, jute.OpenACL(), c.must(jute.Request{Op: jute.OpGetACL, Path: "/a"}).ACL)
		require.Equal(t, "/any", c.must(jute.Request{Op: jute.OpSync, Path: "/any"}).Path)
		require.Equal(t, jute.BadArguments, c.do(jute.Request{Op: jute.OpExists, Path: "/a\x00"}).Err)
		p := c.must(jute.Request{Op: jute.OpMultiRead, Ops: []jute.Request{
			look(jute.OpGetData, "/a"), {Op: jute.OpGetChildren, Path: "/a"}, {Op: jute.OpGetData, Path: "/x"},
		}})
		require.Equal(t, "data", string(p.Results[0].Data))
		require.EqualValues(t, 1, p.Results[0].Stat.NumChildren)
		require.Equal(t, []string{"b"}, p.Results[1].Names)
		require.Equal(t, jute.NoNode, p.Results[2].Err)
		c.must(set("/a", "x"))
		require.Empty(t, c.told(), "a multi-read leaves no watches")
	})
}

// Every read needs its permission; digests are shown to those alone who may change them.
func TestReadsNeedPermissions(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		owner, other := join(t, s), join(t, s)
		require.Equal(t, jute.OK, owner.auth("digest", "bob:secret"))
		acl := []jute.ACL{{Perms: jute.PermAll, Scheme: "digest", ID: zkserver.Digest("bob:secret")}}
		owner.must(jute.Request{Op: jute.OpCreate, Path: "/hidden", ACL: acl})
		owner.must(jute.Request{Op: jute.OpCreate, Path: "/shown", ACL: append(acl, jute.ACL{Perms: jute.PermRead, Scheme: "world", ID: "anyone"})})
		for _, op := range []jute.Op{jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2, jute.OpGetACL} {
			owner.must(jute.Request{Op: op, Path: "/hidden"})
			require.Equal(t, jute.NoAuth, other.do(jute.Request{Op: op, Path: "/hidden"}).Err, "%v", op)
		}
		require.Equal(t, "bob:x", other.must(jute.Request{Op: jute.OpGetACL, Path: "/shown"}).ACL[0].ID)
		require.Equal(t, acl[0], owner.must(jute.Request{Op: jute.OpGetACL, Path: "/shown"}).ACL[0])
	})
}

// getEphemerals lists the session's own in the order of their creation, countChildren all that is
// below.
func TestEphemeralsAreListedAndDescendantsCounted(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c, other := join(t, s), join(t, s)
		c.create("/a", 0)
		for _, path := range []string{"/z", "/a/2", "/a/1"} {
			c.create(path, jute.FlagEphemeral)
		}
		other.create("/a/0", jute.FlagEphemeral)
		for prefix, want := range map[string][]string{
			"": {"/z", "/a/2", "/a/1"}, "/": {"/z", "/a/2", "/a/1"}, "/a": {"/a/2", "/a/1"}, "/x": {}, jute.Null: {"/z", "/a/2", "/a/1"},
		} {
			require.Equal(t, want, c.must(jute.Request{Op: jute.OpGetEphemerals, Path: prefix}).Names, "%q", prefix)
		}
		for path, want := range map[string]int32{"/a": 3, "/a/2": 0, "/": 8} {
			require.Equal(t, want, c.must(jute.Request{Op: jute.OpCountChildren, Path: path}).Count, path)
		}
		require.Equal(t, jute.NoNode, c.do(jute.Request{Op: jute.OpCountChildren, Path: "/x"}).Err)
	})
}

func TestWritesAreNumberedAndTellWhatBecameOfAZnode(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		plain := c.create("/a", jute.FlagPersistent)
		require.Equal(t, "/a", plain.Path)
		require.EqualValues(t, 2, plain.Zxid, "the session was the first transaction")
		for _, op := range []jute.Op{jute.OpCreate2, jute.OpCreateContainer} {
			q := as(op, create("/"+op.String(), 0))
			require.Equal(t, c.must(q).Zxid, c.must(jute.Request{Op: jute.OpExists, Path: q.Path}).Stat.Czxid)
		}
		require.EqualValues(t, 4, c.must(as(jute.OpCreateTTL, create("/ttl", 0))).Stat.DataLength)
		require.EqualValues(t, 1, c.must(set("/a", "more")).Stat.Version)
		require.EqualValues(t, 1, c.must(jute.Request{Op: jute.OpSetACL, Path: "/a", ACL: jute.OpenACL(), Version: -1}).Stat.Aversion)
		require.Equal(t, "/a/n-0000000000", c.create("/a/n-", jute.FlagEphemeralSequential).Path)
		require.Equal(t, c.id, c.must(jute.Request{Op: jute.OpExists, Path: "/a/n-0000000000"}).Stat.EphemeralOwner)
		require.Equal(t, "/0000000004", c.create("/", jute.FlagSequential).Path, "the root's own name is no hindrance")
	})
}

// A failed write changes nothing, and uses up a zxid.
func TestFailedWritesUseANumberUpAndChangeNothing(t *testing.T) {
	t.Parallel()
	noTTL := zkserver.Config{NoTTL: true, Version: "3.8.0"}
	for _, f := range []struct {
		cfg  zkserver.Config
		q    jute.Request
		want jute.Code
	}{
		{noTTL, create("/a", 0), jute.NodeExists},
		{noTTL, create("/", 0), jute.NodeExists},
		{noTTL, create("/x/y", 0), jute.NoNode},
		{noTTL, create("/a/b/c", 0), jute.NoChildrenForEphemerals},
		{noTTL, create("/a/", 0), jute.BadArguments},
		{noTTL, create("a", 0), jute.BadArguments},
		{noTTL, create("", 0), jute.BadArguments},
		{noTTL, create("/a\x00", 0), jute.BadArguments},
		{noTTL, create("/a/.", 0), jute.BadArguments},
		{noTTL, create("/c", 9), jute.BadArguments},
		{noTTL, jute.Request{Op: jute.OpCreate, Path: "/c"}, jute.InvalidACL},
		{noTTL, create(jute.Null, 0), jute.MarshallingError},
		{noTTL, create("/locked/c", 0), jute.NoAuth},
		{noTTL, as(jute.OpCreateTTL, create("/ttl", 0)), jute.Unimplemented},
		{zkserver.Config{}, create("/c", jute.FlagPersistentTTL), jute.BadArguments},
		{zkserver.Config{}, jute.Request{Op: jute.OpCreateTTL, Path: "/c", Flags: 5, ACL: jute.OpenACL()}, jute.BadArguments},
		{zkserver.Config{}, jute.Request{Op: jute.OpCreateTTL, Path: "/c", Flags: 5, ACL: jute.OpenACL(), TTL: tree.MaxTTL + 1}, jute.BadArguments},
		{noTTL, remove("/x"), jute.NoNode},
		{noTTL, remove("/x/y"), jute.NoNode},
		{noTTL, remove("/a"), jute.NotEmpty},
		{noTTL, remove("/locked/in"), jute.NoAuth},
		{noTTL, remove("/"), jute.BadArguments},
		{noTTL, remove(""), jute.BadArguments},
		{noTTL, remove("/a\x00"), jute.BadArguments},
		{noTTL, remove("/zookeeper"), jute.BadArguments},
		{noTTL, remove("/zookeeper/quota"), jute.BadArguments},
		{noTTL, remove("/zookeeper/config"), jute.BadArguments},
		{noTTL, jute.Request{Op: jute.OpDelete, Path: "/a/b", Version: 5}, jute.BadVersion},
		{noTTL, set("/x", ""), jute.NoNode},
		{noTTL, set("/a/", ""), jute.BadArguments},
		{noTTL, set("/locked", ""), jute.NoAuth},
		{noTTL, jute.Request{Op: jute.OpSetData, Path: "/a", Version: 5}, jute.BadVersion},
		{noTTL, jute.Request{Op: jute.OpSetACL, Path: "/a", ACL: jute.OpenACL(), Version: 5}, jute.BadVersion},
		{noTTL, jute.Request{Op: jute.OpSetACL, Path: "/locked", ACL: jute.OpenACL(), Version: -1}, jute.NoAuth},
		{noTTL, jute.Request{Op: jute.OpCheck, Path: "/a", Version: 5}, jute.BadVersion},
		{noTTL, jute.Request{Op: jute.OpCheck, Path: "/locked", Version: -1}, jute.NoAuth},
		{noTTL, jute.Request{Op: jute.OpDeleteContainer, Path: "/a"}, jute.BadArguments},
		{noTTL, jute.Request{Op: jute.OpReconfig, Names: []string{"", "", ""}}, jute.ReconfigDisabled},
	} {
		t.Run(f.q.Op.String()+f.want.String(), func(t *testing.T) {
			world(t, f.cfg, func(t *testing.T, s *zkserver.Server) {
				c, admin := join(t, s), join(t, s)
				c.create("/a", 0)
				c.create("/a/b", jute.FlagEphemeral)
				require.Equal(t, jute.OK, admin.auth("digest", "bob:secret"))
				locked := create("/locked", 0)
				locked.ACL = []jute.ACL{{Perms: jute.PermAll, Scheme: "auth"}}
				admin.must(locked)
				last := admin.create("/locked/in", 0).Zxid
				before := written(t, s)
				p := c.do(f.q)
				require.Equal(t, f.want, p.Err, "%v %q", f.q.Op, f.q.Path)
				require.Equal(t, last+1, p.Zxid, "%v %q", f.q.Op, f.q.Path)
				require.Equal(t, before, written(t, s))
			})
		})
	}
}

func TestAMultiIsOneTransaction(t *testing.T) {
	world(t, zkserver.Config{Version: "3.8.0"}, func(t *testing.T, s *zkserver.Server) {
		c, watcher := join(t, s), join(t, s)
		c.create("/a", 0)
		watcher.must(watch("/", recursive))
		p := c.must(multi(create("/a/b", jute.FlagSequential), as(jute.OpCreate2, create("/a/c", 0)), set("/a/c", "x"),
			jute.Request{Op: jute.OpCheck, Path: "/a/c", Version: 1}, remove("/a/b0000000000")))
		require.Len(t, p.Results, 5)
		require.Equal(t, "/a/b0000000000", p.Results[0].Path)
		require.Equal(t, "/a/c", p.Results[1].Path)
		require.Equal(t, p.Zxid, p.Results[2].Stat.Mzxid, "one zxid for all")
		require.Equal(t, jute.OpCreate, p.Results[1].Op, "without a stat, as on the real server")
		require.Equal(t, []string{"NodeCreated /a/b0000000000", "NodeCreated /a/c", "NodeDataChanged /a/c", "NodeDeleted /a/b0000000000"}, watcher.told())
	})
}

// One failure and nothing happens: those before it would have been fine, those behind it were not
// tried.
func TestAMultiFailsAsAWhole(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		before := c.create("/a", 0).Zxid
		tree := written(t, s)
		p := c.must(multi(create("/b", 0), set("/x", ""), create("/c", 0)))
		require.Equal(t, before+1, p.Zxid, "it uses up a zxid")
		require.Equal(t, []jute.Result{
			{Op: jute.OpError}, {Op: jute.OpError, Err: jute.NoNode}, {Op: jute.OpError, Err: jute.RuntimeInconsistency},
		}, p.Results)
		require.Equal(t, tree, written(t, s))
		require.Empty(t, c.must(multi()).Results)
		require.Equal(t, jute.MarshallingError, c.do(multi(create(jute.Null, 0))).Err)
	})
}
