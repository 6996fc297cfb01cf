package trees

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

// Node is a znode, with those below it. Those to whom it was published see nothing of it change.
type Node struct {
	Data   []byte
	Stat   jute.Stat
	Unread error // why it could not be read, or its children; nil: it was

	kids []child // by name
	gen  uint32  // that of the machine, unless a tree that was published has it
	read bool    // it was read, or could not be: else it is not shown
	want uint8   // to be read: of the machine alone
}

type child struct {
	name string
	node *Node
}

func (n *Node) children() []child {
	if n == nil {
		return nil
	}
	return n.kids
}

func (n *Node) child(name string) *Node {
	list := n.children()
	if i, found := search(list, name); found {
		return list[i].node
	}
	return nil
}

func search(list []child, name string) (int, bool) {
	return slices.BinarySearchFunc(list, name, func(c child, name string) int { return strings.Compare(c.name, name) })
}

// find is the node at a path below this one, shown or not; nil: there is none.
func (n *Node) find(path string) *Node {
	if path == "" {
		return n
	}
	for name := range strings.SplitSeq(path, "/") {
		if n = n.child(name); n == nil {
			return nil
		}
	}
	return n
}

// At is the node at a path below this one, "" being this one; nil: there is none.
func (n *Node) At(path string) *Node {
	if found := n.find(path); found != nil && found.read {
		return found
	}
	return nil
}

// Below are the children, by name.
func (n *Node) Below() iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) {
		for _, c := range n.children() {
			if c.node.read && !yield(c.name, c.node) {
				return
			}
		}
	}
}

// Changed are the nodes that are not the same in two trees, by path; nil: it is gone. Those above
// come first.
func Changed(before, after *Node) iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) { changed("", before, after, yield) }
}

func changed(path string, before, after *Node, yield func(string, *Node) bool) bool {
	was, is := before.At(""), after.At("")
	if (was == nil) != (is == nil) || was != nil && !was.same(is.Data, &is.Stat, is.Unread) {
		if !yield(path, is) {
			return false
		}
	}
	for a, b := was.children(), is.children(); len(a)+len(b) > 0; {
		var old, now child
		if len(b) == 0 || len(a) > 0 && a[0].name <= b[0].name {
			old, a = a[0], a[1:]
		}
		if len(b) > 0 && (old.node == nil || b[0].name == old.name) {
			now, b = b[0], b[1:]
		}
		if old.node != now.node && !changed(Join(path, cmp.Or(old.name, now.name)), old.node, now.node, yield) {
			return false
		}
	}
	return true
}

// same tells whether a node is this one, with the same data. What changes without an event, or by
// its children alone, does not count.
func (n *Node) same(data []byte, stat *jute.Stat, unread error) bool {
	return n.Stat.Czxid == stat.Czxid && n.Stat.Mzxid == stat.Mzxid && fmt.Sprint(n.Unread) == fmt.Sprint(unread) && bytes.Equal(n.Data, data)
}

// Join is the path of a child.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

func parentOf(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

func nameOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// all visits a node and those below it.
func (n *Node) all(path string, visit func(path string, n *Node)) {
	visit(path, n)
	for _, c := range n.kids {
		c.node.all(Join(path, c.name), visit)
	}
}
