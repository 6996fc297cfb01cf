package zkserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

func TestReads(t *testing.T) {
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
	})
}

// Every read needs its permission; digests are shown to those alone who may change them.
func TestReadsNeedPermissions(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		owner, other := join(t, s), join(t, s)
		owner.must(jute.Request{Xid: jute.XidAuth, Op: jute.OpSetAuth, Scheme: "digest", Data: []byte("bob:secret")})
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
