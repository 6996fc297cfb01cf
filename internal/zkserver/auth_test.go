package zkserver_test

// Who a client is: what "auth" stands for, and credentials that are no text.

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// What "auth" stands for has a limit: that of a packet, in which it would be told. A transaction of
// many parts has it once.
func TestAuthStandsForNoMoreThanAPacketHolds(t *testing.T) {
	world(t, zkserver.Config{MaxPacket: 2000}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		for i := range 20 {
			require.Equal(t, jute.OK, c.auth("digest", fmt.Sprintf("u:%d", i)))
		}
		var many []jute.ACL
		for i := range int32(100) {
			many = append(many, jute.ACL{Perms: i, Scheme: "auth"})
		}
		create := func(path string, acl []jute.ACL) jute.Request {
			return jute.Request{Op: jute.OpCreate, Path: path, ACL: acl, TTL: -1}
		}
		require.Equal(t, jute.InvalidACL, c.do(create("/a", many)).Err)
		c.must(create("/a", many[31:32]))
		require.Equal(t, jute.InvalidACL, c.do(jute.Request{Op: jute.OpSetACL, Path: "/a", ACL: many, Version: -1}).Err)
		p := c.do(multi(create("/b", many[:1]), create("/c", many[:1]), create("/d", many[:1])))
		require.Equal(t, jute.InvalidACL, p.Results[2].Err)
	})
}

// Credentials that are no text are read as Java reads them: the digest is of what that makes of
// them.
func TestCredentialsThatAreNoTextAreReadAsJavaReadsThem(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		require.Equal(t, jute.OK, c.auth("digest", "\xff\xfep"))
		c.must(jute.Request{Op: jute.OpCreate, Path: "/mine", ACL: []jute.ACL{{Perms: jute.PermAll, Scheme: "auth"}}})
		require.Equal(t, "\ufffd\ufffdp:LU45PjYsGorM26VxmUfR83NCGDY=", c.must(jute.Request{Op: jute.OpGetACL, Path: "/mine"}).ACL[0].ID)
	})
}
