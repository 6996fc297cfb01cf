package session

import (
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

type (
	// Stat is what ZooKeeper keeps about a znode beside its data:
	//
	//	Czxid, Mzxid, Pzxid           int64      the transactions that created it, last changed its data, last added or removed a child
	//	Ctime, Mtime                  time.Time  when it was created, and its data last changed, by the server's clock
	//	Version, Cversion, Aversion   int32      changes of its data, of its children, of its ACL
	//	EphemeralOwner                int64      the session that it ends with; 0 for a persistent one; containers and TTL znodes have special numbers
	//	DataLength, NumChildren       int32      bytes of data; children
	Stat = zkconn.Stat

	// ACL is one entry of a znode's ACL: it permits what Perms says to those that ID stands for in
	// the Scheme ("world", "auth", "digest", "ip", "x509", …).
	//
	//	Perms   Perms
	//	Scheme  string
	//	ID      string
	ACL = jute.ACL

	// Perms is a set of permissions: [PermRead] and its like, or-ed together.
	Perms = jute.Perms

	// Result is what came of one operation of a transaction:
	//
	//	Path  string  of CreateOp: the path of the new znode, sequence number included
	//	Stat  Stat    of SetOp: the znode's, with its new version
	//	Err   error   nil if the transaction was carried out; if not, the cause at the operation that failed, nil before it, ErrRolledBack behind it
	Result = zkconn.Result

	// Identity is whose a contender's znode is, as its creator says itself: Host, PID, Program, and
	// the Name of [WithIdentity]. Nobody has checked that: it is for people who look, not for
	// decisions. The strings are printable. It is zero if nothing valid was said. String is
	// "orders-7 on host a (pid 812)".
	Identity = znode.Identity
)

// Permissions of an [ACL].
const (
	PermRead   = jute.PermRead   // read its data, list its children
	PermWrite  = jute.PermWrite  // set its data
	PermCreate = jute.PermCreate // create children
	PermDelete = jute.PermDelete // delete children
	PermAdmin  = jute.PermAdmin  // set its ACL
	PermAll    = jute.PermAll    // all of these
)

// AnyoneACL permits this to everybody.
func AnyoneACL(perms Perms) []ACL { return []ACL{{Perms: perms, Scheme: "world", ID: "anyone"}} }

// AuthACL permits this to whoever [WithAuth] says the session is; without one, it is refused.
func AuthACL(perms Perms) []ACL { return []ACL{{Perms: perms, Scheme: "auth"}} }
