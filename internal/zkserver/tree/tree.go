package tree

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

// Tree holds all znodes. It is not safe for concurrent use: its owner serialises.
type Tree struct {
	nodes      map[string]*Node
	root       *Node
	ephemerals map[int64]map[*Node]struct{}
	reapable   map[*Node]struct{} // containers and TTL znodes
	dataSize   int64
}

// New is the tree of a server that was never used: "/" with "/zookeeper" and its "quota" and
// "config".
func New() *Tree {
	t := empty()
	for _, path := range []string{"/zookeeper", "/zookeeper/quota", "/zookeeper/config"} {
		n := &Node{path: path, acl: openACL, data: []byte{}}
		t.nodes[Parent(path)].adopt(n)
		t.nodes[path] = n
	}
	t.dataSize = 44 // as the real server counts: of these paths and of "/"
	config := t.nodes["/zookeeper/config"]
	config.acl, config.aversion = configACL, -1
	return t
}

var (
	openACL   = jute.OpenACL()
	configACL = []jute.ACL{{Perms: jute.PermRead, Scheme: "world", ID: "anyone"}}
)

func empty() *Tree {
	root := &Node{acl: openACL, data: []byte{}}
	return &Tree{
		root:       root,
		nodes:      map[string]*Node{"": root, "/": root},
		ephemerals: make(map[int64]map[*Node]struct{}),
		reapable:   make(map[*Node]struct{}),
	}
}

// Get finds a node; nil if there is none.
func (t *Tree) Get(path string) *Node { return t.nodes[path] }

// Len is the number of znodes, the root counted once.
func (t *Tree) Len() int { return len(t.nodes) - 1 }

// DataSize is the sum of all paths' and data's lengths.
func (t *Tree) DataSize() int64 { return t.dataSize }

// Parent is the path of the parent: "" for those right below the root. The path must contain a
// slash.
func Parent(path string) string { return path[:strings.LastIndexByte(path, '/')] }

// Special reports whether a path can't be deleted.
func Special(path string) bool {
	return path == "/" || path == "/zookeeper" || path == "/zookeeper/quota" || path == "/zookeeper/config"
}

// Ephemerals are the paths of a session's ephemerals, in the order of their creation.
func (t *Tree) Ephemerals(session int64) []string {
	return paths(slices.Collect(maps.Keys(t.ephemerals[session])))
}

// EphemeralOwners are the sessions that have ephemerals, sorted.
func (t *Tree) EphemeralOwners() []int64 {
	return slices.Sorted(maps.Keys(t.ephemerals))
}

// NumEphemerals is how many ephemerals there are.
func (t *Tree) NumEphemerals() int {
	sum := 0
	for _, set := range t.ephemerals {
		sum += len(set)
	}
	return sum
}

// Reapable are the paths to be tried for deletion at an instant (ms): empty containers that once
// had a child, and empty TTL znodes whose time is over.
func (t *Tree) Reapable(now int64) []string {
	var nodes []*Node
	for n := range t.reapable {
		due := n.creations > 0
		if ttl, ok := TTL(n.owner); ok {
			due = ttl != 0 && now-n.mtime > ttl
		}
		if due && len(n.children) == 0 {
			nodes = append(nodes, n)
		}
	}
	return paths(nodes)
}

// NumReapable is how many containers and TTL znodes there are.
func (t *Tree) NumReapable() int { return len(t.reapable) }

// paths are those of nodes, in the order in which these were created.
func paths(nodes []*Node) []string {
	slices.SortFunc(nodes, func(a, b *Node) int { return cmp.Or(cmp.Compare(a.czxid, b.czxid), cmp.Compare(a.path, b.path)) })
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = n.path
	}
	return all
}

// CountBelow is the number of znodes anywhere below a path.
func (t *Tree) CountBelow(path string) int {
	n := t.nodes[path]
	if n == nil {
		return 0
	}
	sum := 0
	for todo := []*Node{n}; len(todo) > 0; {
		last := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], last.children...)
		sum += len(last.children)
	}
	return sum
}

// Walk visits every node, parents first, siblings by name.
func (t *Tree) Walk(visit func(*Node)) { walk(t.root, visit) }

// Walk visits a node and those below it, parents first, siblings by name.
func (n *Node) Walk(visit func(*Node)) { walk(n, visit) }

func walk(n *Node, visit func(*Node)) {
	visit(n)
	for _, c := range slices.SortedFunc(slices.Values(n.children), func(a, b *Node) int { return cmp.Compare(a.path, b.path) }) {
		walk(c, visit)
	}
}

// Clone is an independent copy; data and ACLs, which never change in place, are shared.
func (t *Tree) Clone() *Tree {
	c := empty()
	c.dataSize = t.dataSize
	c.copyNode(c.root, t.root)
	return c
}

// copyNode makes a node of this tree a copy of another's, with all below it.
func (t *Tree) copyNode(to, from *Node) {
	parent, slot := to.parent, to.slot
	*to = *from
	to.parent, to.slot = parent, slot
	to.children = make([]*Node, 0, len(from.children))
	for _, f := range from.children {
		n := &Node{}
		to.adopt(n)
		t.copyNode(n, f)
		t.nodes[n.path] = n
		t.index(n)
	}
}

// index adds a node to the sets of those that go away by themselves.
func (t *Tree) index(n *Node) {
	switch {
	case n.owner == 0:
	case Ephemeral(n.owner):
		set := t.ephemerals[n.owner]
		if set == nil {
			set = make(map[*Node]struct{})
			t.ephemerals[n.owner] = set
		}
		set[n] = struct{}{}
	default:
		t.reapable[n] = struct{}{}
	}
}

func (t *Tree) unindex(n *Node) {
	switch {
	case n.owner == 0:
	case Ephemeral(n.owner):
		set := t.ephemerals[n.owner]
		delete(set, n)
		if len(set) == 0 {
			delete(t.ephemerals, n.owner)
		}
	default:
		delete(t.reapable, n)
	}
}
