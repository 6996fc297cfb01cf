package zkserver_test

// Who a client is: digests, "auth", the super user, and schemes that there are not.

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// Users are who their passwords say; "auth" in an ACL stands for whoever the caller is; the super
// user may do everything.
func TestUsersAreWhoTheirPasswordsSay(t *testing.T) {
	world(t, zkserver.Config{Super: zkserver.Digest("super:root")}, func(t *testing.T, s *zkserver.Server) {
		bob, eve, super := join(t, s), join(t, s), join(t, s)
		mine := jute.Request{Op: jute.OpCreate, Path: "/mine", ACL: []jute.ACL{{Perms: jute.PermAll, Scheme: "auth"}}}
		require.Equal(t, jute.InvalidACL, bob.do(mine).Err, "nobody yet")
		require.Equal(t, jute.OK, bob.auth("digest", "bob:secret"))
		require.Equal(t, jute.OK, bob.auth("digest", "bob:other"))
		bob.must(mine)
		require.Equal(t, []jute.ACL{
			{Perms: jute.PermAll, Scheme: "digest", ID: zkserver.Digest("bob:secret")}, {Perms: jute.PermAll, Scheme: "digest", ID: zkserver.Digest("bob:other")},
		}, bob.must(jute.Request{Op: jute.OpGetACL, Path: "/mine"}).ACL)

		require.Equal(t, []jute.Identity{{Scheme: "ip", ID: "127.0.0.1"}, {Scheme: "digest", ID: "bob"}, {Scheme: "digest", ID: "bob"}}, bob.must(jute.Request{Op: jute.OpWhoAmI}).Identity)

		require.Equal(t, jute.OK, eve.auth("digest", "bob:guessed"), "a wrong password is somebody else's")
		require.Equal(t, jute.NoAuth, eve.do(set("/mine", "x")).Err)
		require.Equal(t, jute.OK, super.auth("digest", "super:root"))
		super.must(set("/mine", "x"))
	})
}

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

// A scheme that the server doesn't have ends the connection; without SASL everybody is answered,
// and nobody is anybody.
func TestASchemeThatThereIsNotEndsTheConnection(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		for _, scheme := range []string{"kerberos", "world", ""} {
			c := join(t, s)
			require.Equal(t, jute.AuthFailed, c.auth(scheme, "x"))
			c.over()
		}
		c := join(t, s)
		require.Equal(t, jute.OK, c.auth("ip", ""))
		require.Equal(t, jute.OK, c.do(jute.Request{Op: jute.OpSASL, Data: []byte("token")}).Err)
		require.Equal(t, []jute.Identity{{Scheme: "ip", ID: "127.0.0.1"}}, c.must(jute.Request{Op: jute.OpWhoAmI}).Identity)
	})
}
