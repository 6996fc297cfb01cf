package tree

import (
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

// Owners that are no session.
const (
	// OwnerContainer is the EphemeralOwner of a container.
	OwnerContainer int64 = -1 << 63
	ttlMask        int64 = -1 << 56  // the first byte, all ones in the owner of a TTL znode
	ttlLow         int64 = 1<<40 - 1 // the time itself
	// MaxTTL is the longest time that a TTL znode can be given, in milliseconds.
	MaxTTL = ttlLow
)

// OwnerTTL is the EphemeralOwner of a znode that lives for ms after its last change.
func OwnerTTL(ms int64) int64 { return ttlMask | ms&ttlLow }

// TTL reads the time out of an EphemeralOwner; false if it is none of a TTL znode. Server ids stop
// short of 255, so no session id is taken for one.
func TTL(owner int64) (ms int64, ok bool) {
	if owner&ttlMask != ttlMask {
		return 0, false
	}
	return owner & ttlLow, true
}

// Ephemeral reports whether an EphemeralOwner is a session.
func Ephemeral(owner int64) bool {
	_, ttl := TTL(owner)
	return !ttl && owner != OwnerContainer && owner != 0
}

// Node is a znode.
type Node struct {
	path     string
	parent   *Node
	slot     int // its place among the parent's children, so that it is removed in constant time
	children []*Node
	data     []byte
	acl      []jute.ACL // shared, never altered

	czxid, mzxid, pzxid int64
	ctime, mtime        int64
	version, aversion   int32
	creations           int32 // of children: the next sequence number
	owner               int64
}

// Path is the node's path; "" for the root.
func (n *Node) Path() string { return n.path }

// Data is the node's content, to be read only.
func (n *Node) Data() []byte { return n.data }

// Parent is the node above, also of one that is gone; nil for the root.
func (n *Node) Parent() *Node { return n.parent }

// ACL is who may do what, to be read only.
func (n *Node) ACL() []jute.ACL { return n.acl }

// Owner is the session of an ephemeral, or one of the special owners, or 0.
func (n *Node) Owner() int64 { return n.owner }

// Creations is how many children were ever created: the sequence number of the next one.
func (n *Node) Creations() int32 { return n.creations }

// Pzxid is the last transaction that created or deleted a child.
func (n *Node) Pzxid() int64 { return n.pzxid }

// Mzxid is the last transaction that set the data.
func (n *Node) Mzxid() int64 { return n.mzxid }

// NumChildren is how many children there are.
func (n *Node) NumChildren() int { return len(n.children) }

// Children calls each with every child, in an order that the same history always gives.
func (n *Node) Children(each func(*Node)) {
	for _, c := range n.children {
		each(c)
	}
}

// Name is the last part of the path.
func (n *Node) Name() string { return n.path[strings.LastIndexByte(n.path, '/')+1:] }

// Stat is what clients see of the node.
func (n *Node) Stat() jute.Stat {
	owner := n.owner
	if !Ephemeral(owner) {
		owner = 0 // the special owners are the server's own business
	}
	return jute.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid,
		Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Aversion: n.aversion,
		Cversion:       n.creations*2 - int32(len(n.children)),
		EphemeralOwner: owner,
		DataLength:     int32(len(n.data)),
		NumChildren:    int32(len(n.children)),
	}
}

func (n *Node) adopt(child *Node) {
	child.parent, child.slot = n, len(n.children)
	n.children = append(n.children, child)
}

// disown puts the last child into the place of the one that goes.
func (n *Node) disown(child *Node) {
	last := len(n.children) - 1
	moved := n.children[last]
	n.children[child.slot], moved.slot = moved, child.slot
	n.children[last] = nil
	n.children = n.children[:last]
}
