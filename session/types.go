package session

import "github.com/troupe-go/troupe/session/internal/link"

type (
	// Stat is what ZooKeeper keeps about a znode beside its data.
	Stat = link.Stat

	// ACL permits what Perms says to those that ID stands for in the Scheme ("world", "auth", "digest", "ip", "x509", …).
	ACL = link.ACL

	// Perms is a set of permissions.
	Perms = link.Perms

	// Result is what came of one operation of a transaction.
	Result = link.Result

	// EventType says what happened to a watched znode.
	EventType = link.EventType
)

// Permissions of an [ACL].
const (
	PermRead   = link.PermRead   // read its data, list its children
	PermWrite  = link.PermWrite  // set its data
	PermCreate = link.PermCreate // create children
	PermDelete = link.PermDelete // delete children
	PermAdmin  = link.PermAdmin  // set its ACL
	PermAll    = link.PermAll
)

// What may happen to a watched znode: see [Fired].
const (
	NodeCreated         = link.NodeCreated
	NodeDeleted         = link.NodeDeleted
	NodeDataChanged     = link.NodeDataChanged
	NodeChildrenChanged = link.NodeChildrenChanged // a child came or went
)

// AnyoneACL permits it to everybody.
func AnyoneACL(perms Perms) []ACL { return []ACL{{Perms: perms, Scheme: "world", ID: "anyone"}} }

// AuthACL permits it to whoever the session is authenticated as: see [WithAuth].
func AuthACL(perms Perms) []ACL { return []ACL{{Perms: perms, Scheme: "auth"}} }
