package actors

import (
	"slices"
	"sync"
)

// node is a place in the tree: a group, or an actor's. Its mutex is never held while user code runs or another node's is wanted.
type node struct {
	system *System
	parent *node
	name   string
	kind   string
	done   chan struct{}
	halt   func() // an actor: ends it once nothing is below it any more; nil for a group
	cell   *cell

	mu       sync.Mutex
	children []*node
	stopping bool
	halted   bool
}

func newNode(s *System, parent *node, name, kind string) *node {
	return &node{system: s, parent: parent, name: name, kind: kind, done: make(chan struct{})}
}

// adopt puts a node below this one; false if this one is being stopped.
func (n *node) adopt(child *node) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopping {
		return false
	}
	n.children = append(n.children, child)
	return true
}

// stop ends everything below and then this.
func (n *node) stop() {
	n.mu.Lock()
	first := !n.stopping
	n.stopping = true
	children := slices.Clone(n.children)
	n.mu.Unlock()
	if !first {
		return
	}
	for _, c := range children {
		c.stop()
	}
	n.settle()
}

// settle ends this node if it is to stop and nothing is below it.
func (n *node) settle() {
	n.mu.Lock()
	ready := n.stopping && len(n.children) == 0 && !n.halted
	if ready {
		n.halted = true
	}
	n.mu.Unlock()
	switch {
	case !ready:
	case n.halt != nil:
		n.halt() // calls gone when the actor has ended
	default:
		n.gone()
	}
}

// gone: this node has ended.
func (n *node) gone() {
	close(n.done)
	if n.parent == nil {
		return
	}
	p := n.parent
	p.mu.Lock()
	p.children = slices.DeleteFunc(p.children, func(c *node) bool { return c == n })
	p.mu.Unlock()
	p.settle()
}

func (n *node) stopped() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stopping
}

func (n *node) view() Node {
	n.mu.Lock()
	children := slices.Clone(n.children)
	n.mu.Unlock()
	v := Node{Name: n.name, Kind: n.kind}
	if n.cell != nil {
		v.Phase, v.Restarts = n.cell.view()
	}
	for _, c := range children {
		v.Children = append(v.Children, c.view())
	}
	return v
}
