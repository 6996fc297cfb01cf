package session

import (
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/internal/enum"
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

// State is how a session stands with ZooKeeper.
type State int

// The states of a session: see the package's documentation for what leads from one to another.
const (
	Connecting State = iota // there is no epoch yet, or a new one begins
	Connected               // connected, and trusted as far as anything depends on it
	Suspended               // the connection is down; the ZooKeeper session lives, and reconnection is under way
	Untrusted               // no word from the leader for so long that the ZooKeeper session may have ended
	Lost                    // the epoch is over, since the server said so or this process failed; the next begins when ZooKeeper is known to have ended the old one
	Closed                  // for good
)

// String is the state's name, in small letters.
func (s State) String() string {
	return enum.Name("State", s, "connecting", "connected", "suspended", "untrusted", "lost", "closed")
}

// Status is how a session stands at an instant.
type Status struct {
	State        State
	Epoch        uint64        // which ZooKeeper session, counted from 1; 0 before the first
	SessionID    int64         // the number that ZooKeeper gave it; 0 before it did
	Timeout      time.Duration // as negotiated; as asked for before that
	TrustedUntil time.Time     // until when possessions may be held without a further word from the leader; zero if never yet in this epoch
	Server       string        // host:port of the present connection, "" if there is none
	Address      string        // that it goes to: as Server, or, if that is a name, the address that it stands for

	// Cause is why the latest epoch to end has ended: [ErrExpired], which [ErrDataLoss] may come
	// with, [ErrRestarted] or [ErrClosed]; nil if none has. While a connection is looked for, it
	// says so first: for how long there has been none, and what the last attempt has seen.
	Cause error
}
