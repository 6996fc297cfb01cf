package actors

import (
	"log/slog"
	"sync"
	"sync/atomic"
)

// node is a position in the tree: a group or an actor. Its mutex is never held while user code runs
// or another node's mutex is taken.
type node struct {
	system *System
	parent *node
	name   string
	kind   string
	cell   *cell // the actor; nil for a group
	done   chan struct{}
	halted atomic.Bool // see end: nothing is below it, and no message is received any more

	mu          sync.Mutex
	stopping    bool
	barred      bool   // between two incarnations: nothing may be put below it
	emptied     func() // called once when nothing is below it, unless it is stopped first
	first, last *node  // its children, in the order in which they were added

	before, after *node // its siblings, guarded by the parent's mutex
}

func newNode(s *System, parent *node, name, kind string) *node {
	return &node{system: s, parent: parent, name: name, kind: kind, done: make(chan struct{})}
}

// adopt adds a node below this one; false if this one is being stopped or restarted.
func (n *node) adopt(child *node) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopping || n.barred {
		return false
	}
	child.before = n.last
	if n.last == nil {
		n.first = child
	} else {
		n.last.after = child
	}
	n.last = child
	return true
}

// disown removes a node that has ended.
func (n *node) disown(child *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if child.before == nil {
		n.first = child.after
	} else {
		child.before.after = child.after
	}
	if child.after == nil {
		n.last = child.before
	} else {
		child.after.before = child.before
	}
}

// childrenLocked is a copy, so that the children can be visited without the mutex. The caller has
// the mutex.
func (n *node) childrenLocked() []*node {
	var all []*node
	for c := n.first; c != nil; c = c.after {
		all = append(all, c)
	}
	return all
}

// stop ends everything below this node, and then the node.
func (n *node) stop() {
	n.mu.Lock()
	first := !n.stopping
	n.stopping = true
	children := n.childrenLocked()
	n.mu.Unlock()
	if !first {
		return
	}
	for _, c := range children {
		c.stop()
	}
	n.settle()
}

// empty ends everything below an actor that failed and admits nothing below it until open. It calls
// emptied when that is done, unless the actor is stopped.
func (n *node) empty(emptied func()) {
	n.mu.Lock()
	n.barred, n.emptied = true, emptied
	children := n.childrenLocked()
	n.mu.Unlock()
	for _, c := range children {
		c.stop()
	}
	n.settle()
}

// open undoes empty: the next incarnation may spawn.
func (n *node) open() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.barred = false
}

// settle goes on with an end or a restart that waited for the last child to end.
func (n *node) settle() {
	n.mu.Lock()
	var next func()
	switch {
	case n.first != nil:
	case !n.stopping:
		next, n.emptied = n.emptied, nil // a restart
	case n.halted.CompareAndSwap(false, true):
		next = n.end // also if a restart was under way
	}
	n.mu.Unlock()
	if next != nil {
		next()
	}
}

// end is the last step of a node except gone.
func (n *node) end() {
	if n.cell != nil {
		n.cell.halt() // gone is called when the actor has ended
		return
	}
	n.gone()
}

// gone is called when this node has ended.
func (n *node) gone() {
	if n.parent != nil {
		n.parent.disown(n)
	}
	close(n.done)
	if n.parent != nil {
		n.parent.settle()
	}
}

func (n *node) isStopping() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stopping
}

// log is the system's logger with the name of this node.
func (n *node) log() *slog.Logger { return n.system.log.With("actor", n.name, "kind", n.kind) }

func (n *node) view() Node {
	n.mu.Lock()
	children := n.childrenLocked()
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
