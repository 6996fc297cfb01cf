package trees

import (
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

// want has a znode read: at once, but for a listing behind the data, which tell whether it is
// needed.
func (m *Machine) want(path string, what aspect) {
	t, ok := m.todo[path]
	walk := !ok && !m.walked && what&names != 0 // else an event has told of it
	if !m.spreads(path) {
		what &^= names
	}
	if what == 0 {
		return
	}
	if walk {
		t.walk = true
		m.walking++
	}
	news := what &^ t.want
	t.want |= what
	m.todo[path] = t
	if news&data != 0 && !m.plain {
		news &^= names
	}
	m.enqueue(path, news)
}

func (m *Machine) enqueue(path string, what aspect) {
	t := m.todo[path]
	for _, r := range []Read{{path, jute.OpGetData}, {path, jute.OpGetChildren2}, {path, jute.OpExists}} {
		if what&r.aspect() != 0 {
			t.queued |= r.aspect()
			m.queue = append(m.queue, r)
		}
	}
	m.todo[path] = t
}

// done says that an aspect of a znode is known.
func (m *Machine) done(path string, what aspect) {
	t, ok := m.todo[path]
	if !ok {
		return
	}
	t.want, t.queued = t.want&^what, t.queued&^what
	if t.want != 0 {
		m.todo[path] = t
		return
	}
	delete(m.todo, path)
	if t.walk {
		m.walking--
	}
}

// spreads tells whether the children of a node are kept.
func (m *Machine) spreads(path string) bool {
	return m.depth == 0 || path == "" || strings.Count(path, "/")+1 < m.depth
}

// drop takes a node out, with all below it.
func (m *Machine) drop(path string) {
	n := m.root.find(path)
	m.forget(path, n)
	switch {
	case n == nil:
	case path == "":
		m.root, m.changed = nil, true
	default:
		above := parentOf(path)
		up := m.edit(above)
		kids := m.owned(up)
		i, _ := search(kids.list, path[len(Join(above, "")):])
		if kids.list = slices.Delete(kids.list, i, i+1); len(kids.list) == 0 {
			up.kids = nil
		}
	}
}

// forget counts nodes off that are taken out.
func (m *Machine) forget(path string, n *Node) {
	m.done(path, data|names|birth)
	n.all(path, func(path string, _ *Node) {
		m.count--
		m.done(path, data|names|birth)
		delete(m.unread, path)
	})
}

func (m *Machine) made() *Node {
	m.count++
	m.changed = true
	return &Node{gen: m.gen}
}

// edit is a node that may be changed: no tree that was published has it.
func (m *Machine) edit(path string) *Node {
	m.changed = true
	m.root = m.copied(m.root)
	n := m.root
	if path == "" {
		return n
	}
	for name := range strings.SplitSeq(path, "/") {
		list := m.owned(n).list
		i, _ := search(list, name)
		list[i].node = m.copied(list[i].node)
		n = list[i].node
	}
	return n
}

func (m *Machine) copied(n *Node) *Node {
	if n.gen == m.gen {
		return n
	}
	c := *n
	c.gen = m.gen
	return &c
}

// owned are the children of a node that may be changed.
func (m *Machine) owned(n *Node) *kids {
	switch {
	case n.kids == nil:
		n.kids = &kids{gen: m.gen}
	case n.kids.gen != m.gen:
		n.kids = &kids{m.gen, slices.Clone(n.kids.list)}
	}
	return n.kids
}
