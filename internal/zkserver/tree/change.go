package tree

import (
	"unicode/utf8"

	"github.com/troupe-go/troupe/internal/jute"
)

// Kind says what a change does.
type Kind uint8

// The kinds of changes.
const (
	Check   Kind = iota // nothing: the check of a version inside a multi
	Create              // a znode comes to be
	Delete              // a znode goes
	SetData             // data and version are replaced
	SetACL              // the ACL and its version are replaced
	Count               // the number of children that ever were is set
)

// Change is one step of a transaction, checked and ready to be applied.
type Change struct {
	Kind      Kind
	Path      string
	Data      []byte
	ACL       []jute.ACL
	Owner     int64
	Creations int32 // Create: what the parent's counter becomes; Count: what the node's own does
	Version   int32 // SetData, SetACL: what the version becomes
}

// Apply carries out a change as part of the transaction zxid at time now (ms). It returns the node
// concerned, also after its deletion; nil for a check. A change that Prepare has checked on the
// same state always applies; any other is ignored where it makes no sense.
func (t *Tree) Apply(c *Change, zxid, now int64) *Node {
	switch c.Kind {
	case Create:
		return t.create(c, zxid, now)
	case Delete:
		return t.remove(c.Path, zxid)
	case SetData:
		if n := t.nodes[c.Path]; n != nil {
			t.dataSize += int64(len(c.Data) - len(n.data))
			n.data, n.version, n.mzxid, n.mtime = c.Data, c.Version, zxid, now
			return n
		}
	case SetACL:
		if n := t.nodes[c.Path]; n != nil {
			n.acl, n.aversion = c.ACL, c.Version
			return n
		}
	case Count:
		t.SetCreations(c.Path, c.Creations)
	}
	return nil
}

func (t *Tree) create(c *Change, zxid, now int64) *Node {
	parent := t.nodes[Parent(c.Path)]
	if parent == nil || t.nodes[c.Path] != nil {
		return nil
	}
	// Past 2147483647 the new count is negative, so the counter, and Pzxid with it, stays.
	if c.Creations > parent.creations {
		parent.creations, parent.pzxid = c.Creations, zxid
	}
	n := &Node{
		path: c.Path, data: c.Data, acl: c.ACL, owner: c.Owner,
		czxid: zxid, mzxid: zxid, pzxid: zxid, ctime: now, mtime: now,
	}
	parent.adopt(n)
	t.nodes[c.Path] = n
	t.index(n)
	t.dataSize += size(c.Path, c.Data)
	return n
}

func (t *Tree) remove(path string, zxid int64) *Node {
	n := t.nodes[path]
	if n == nil || n.parent == nil {
		return nil
	}
	n.parent.disown(n)
	n.parent.pzxid = max(n.parent.pzxid, zxid)
	delete(t.nodes, path)
	t.unindex(n)
	t.dataSize -= size(path, n.data)
	return n
}

// size is what a node counts for: characters, not bytes, of the path.
func size(path string, data []byte) int64 { return int64(utf8.RuneCountInString(path) + len(data)) }

// SetCreations sets a node's count of creations, for tests of what happens at its end.
func (t *Tree) SetCreations(path string, count int32) {
	if n := t.nodes[path]; n != nil {
		n.creations = count
	}
}
