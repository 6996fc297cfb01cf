package session

import (
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/znode"
)

type (
	// ACL is go-zookeeper's: one entry of a znode's ACL, which permits what Perms says, [PermRead]
	// and its like or-ed together, to those that ID stands for in the Scheme ("world", "auth",
	// "digest", "ip", "x509", …). zk.WorldACL and zk.DigestACL make some.
	ACL = zk.ACL

	// Stat is what ZooKeeper keeps about a znode beside its data: go-zookeeper's Stat, with times.
	Stat struct {
		Czxid          int64     // the transaction that created it
		Mzxid          int64     // the transaction that last changed its data
		Ctime          time.Time // when it was created, by the server's clock
		Mtime          time.Time // when its data was last changed, by the server's clock
		Version        int32     // changes of its data
		Cversion       int32     // changes of its children
		Aversion       int32     // changes of its ACL
		EphemeralOwner int64     // the session that it ends with; 0 for a persistent one; containers and TTL znodes have special numbers
		DataLength     int32     // bytes of data
		NumChildren    int32     // children
		Pzxid          int64     // the transaction that last added or removed a child
	}

	// Result is what came of one operation of a transaction.
	Result struct {
		Path string // of CreateOp: the path of the new znode, sequence number included
		Stat Stat   // of SetOp: the znode's, with its new version
		Err  error  // nil if the transaction was carried out; if not, the cause at the operation that failed, nil before it, ErrRolledBack behind it
	}

	// Identity is whose a contender's znode is, as its creator says itself: Host, PID, Program, and
	// the Name of [WithIdentity]. Nobody has checked that: it is for people who look, not for
	// decisions. The strings are printable. It is zero if nothing valid was said. String is
	// "orders-7 on host a (pid 812)".
	Identity = znode.Identity
)

// Permissions of an [ACL]: go-zookeeper's constants.
const (
	PermRead   = zk.PermRead   // read its data, list its children
	PermWrite  = zk.PermWrite  // set its data
	PermCreate = zk.PermCreate // create children
	PermDelete = zk.PermDelete // delete children
	PermAdmin  = zk.PermAdmin  // set its ACL
	PermAll    = zk.PermAll    // all of these
)

// AnyoneACL permits this to everybody.
func AnyoneACL(perms int32) []ACL { return zk.WorldACL(perms) }

// AuthACL permits this to whoever [WithAuth] says the session is; without one, it is refused.
func AuthACL(perms int32) []ACL { return zk.AuthACL(perms) }

// convert makes an ACL of an application's that of a request, or back. It is not nil.
func convert[To, From ACL | jute.ACL](acl []From) []To {
	all := make([]To, len(acl))
	for i, a := range acl {
		all[i] = To(a)
	}
	return all
}
