package tree

import (
	"errors"

	"github.com/troupe-go/troupe/internal/jute"
)

// Saved is all that there is to a node: what a file keeps of it. Creations that are negative leave
// the count as it is.
type Saved struct {
	Path                string
	Data                []byte
	ACL                 []jute.ACL
	Owner               int64
	Czxid, Mzxid, Pzxid int64
	Ctime, Mtime        int64
	Version, Aversion   int32
	Creations           int32
}

// Saved describes a node; data and ACL are shared.
func (n *Node) Saved() Saved {
	path := n.path
	if n.parent == nil {
		path = "/"
	}
	return Saved{
		Path: path, Data: n.data, ACL: n.acl, Owner: n.owner, Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid,
		Ctime: n.ctime, Mtime: n.mtime, Version: n.version, Aversion: n.aversion, Creations: n.creations,
	}
}

// ErrNoParent is Restore's answer to a node whose parent isn't there yet.
var ErrNoParent = errors.New("its parent is missing")

// Restore puts a node into the tree as it was saved; parents come before their children. One that
// is there already becomes what was saved. Nobody is told, and children are not counted.
func (t *Tree) Restore(s Saved) (*Node, error) {
	if !Valid(s.Path) {
		return nil, jute.BadArguments
	}
	n := t.nodes[s.Path]
	if n == nil {
		parent := t.nodes[Parent(s.Path)]
		if parent == nil {
			return nil, ErrNoParent
		}
		if Ephemeral(parent.owner) {
			return nil, jute.NoChildrenForEphemerals
		}
		n = &Node{path: s.Path}
		parent.adopt(n)
		t.nodes[n.path] = n
		t.dataSize += size(n.path, nil)
	}
	if Ephemeral(s.Owner) && len(n.children) > 0 {
		return nil, jute.NoChildrenForEphemerals
	}
	t.unindex(n)
	n.owner = s.Owner
	t.index(n)
	if len(s.ACL) == 1 && s.ACL[0] == openACL[0] {
		s.ACL = openACL // one for all
	}
	t.dataSize += int64(len(s.Data) - len(n.data))
	n.data, n.acl = s.Data, s.ACL
	n.czxid, n.mzxid, n.pzxid, n.ctime, n.mtime = s.Czxid, s.Mzxid, s.Pzxid, s.Ctime, s.Mtime
	n.version, n.aversion = s.Version, s.Aversion
	if s.Creations >= 0 {
		n.creations = s.Creations
	}
	return n, nil
}
