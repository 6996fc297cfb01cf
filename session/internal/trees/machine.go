package trees

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/znode"
)

// Machine keeps a tree. It is used by one goroutine at a time. Paths are relative, "" is the root.
type Machine struct {
	depth int  // of what is kept below the root; 0: any
	most  int  // nodes
	plain bool // each read arms a watch, rather than that one watch tells of all

	link  int    // down, probing, live
	zxid  int64  // in the last answer
	root  *Node  // not nil: a missing one is not shown
	gen   uint32 // nodes of another one are in trees that were published
	count int    // nodes
	full  bool   // they were more than most, by an answer: events alone may tell of a part of a transaction
	todo  [3]int // how many nodes have their data, names, birth to be read
	queue []Read // to be asked; some need not be any more

	changed bool      // something differs from the tree that was published last
	loose   bool      // that was not known to be whole
	walked  bool      // everything was read once
	since   time.Time // when something was dirty first, or a loose tree was published; zero: nothing is

	unread  bool      // some nodes could not be read
	retries int       // of these, in a row
	retry   time.Time // the next; zero: it is not known yet
}

const (
	down, probing, live = 0, 1, 2 // probing: it is not known yet what has changed since zxid
	data, names, birth  = 1, 2, 4 // what is to be read of a node; birth: of the root

	patience     = time.Second // after which a tree is published that is not known to be whole
	shortestRest = time.Second // before what could not be read is read again, …
	longestRest  = 5 * time.Minute
)

// Read is a read of a znode: a getData, a getChildren2, or an exists, which is to see its creation.
type Read struct {
	Path string
	Op   jute.Op
}

var reads = map[jute.Op]uint8{jute.OpGetData: data, jute.OpGetChildren2: names, jute.OpExists: birth}

// New makes a machine that keeps so many levels below the root (0: all), and so many nodes at most.
// plain: each read arms a watch, rather than that one watch tells of all.
func New(depth, most int, plain bool) *Machine {
	return &Machine{depth: depth, most: most, plain: plain, root: new(Node), count: 1, changed: true}
}

// Down says that the connection is lost: nothing is published until [Machine.Probed].
func (m *Machine) Down() { m.link, m.changed, m.since = down, true, time.Time{} }

// Resume begins on the next connection. It returns the transaction since which changes have to be
// told, after it has called known with the paths of which: the data, and, if so, the children.
func (m *Machine) Resume(known func(path string, children bool)) (since int64) {
	m.link, m.queue = probing, nil
	m.root.all("", func(path string, n *Node) {
		want := n.want
		if m.set(n, 0); n.read {
			known(path, m.spreads(path))
		}
		if want != 0 || !n.read { // this server may not have seen all that was told, nor was all told below
			m.want(path, n, data|names)
		}
	})
	return m.zxid
}

// Probed says that all changes were told that were asked for, unless the connection is lost.
func (m *Machine) Probed() {
	if m.link == probing {
		m.link = live
	}
}

// Next are the reads to ask now. up: there is a connection. full: there are more nodes than are
// kept.
func (m *Machine) Next(most int) (asks []Read, up, full bool) {
	for ; len(m.queue) > 0 && len(asks) < most && m.link == live; m.queue = m.queue[1:] {
		r := m.queue[0]
		if n := m.root.find(r.Path); n != nil && n.want&reads[r.Op] != 0 {
			asks = append(asks, r)
		}
	}
	if len(m.queue) == 0 {
		m.queue = nil // which frees the memory of many
	}
	return asks, m.link == live, m.full
}

// want has aspects of a node read.
func (m *Machine) want(path string, n *Node, what uint8) {
	if n.read && !m.spreads(path) { // else the first tree waits for the data too
		what &^= names
	}
	news := what &^ n.want
	m.set(n, n.want|what)
	switch {
	case news&data != 0:
		m.queue = append(m.queue, Read{path, jute.OpGetData})
	case news&names != 0 && n.want&data == 0: // else behind the data, which tell whether it is needed
		m.queue = append(m.queue, Read{path, jute.OpGetChildren2})
	case news&birth != 0:
		m.queue = append(m.queue, Read{path, jute.OpExists})
	}
}

// set sets what is to be read of a node. Trees that were published may have it: they do not show
// that.
func (m *Machine) set(n *Node, want uint8) {
	for i := range m.todo {
		m.todo[i] += int(want>>i&1) - int(n.want>>i&1)
	}
	n.want = want
}

// spreads tells whether the children of a node are kept.
func (m *Machine) spreads(path string) bool {
	return m.depth == 0 || path == "" || strings.Count(path, "/")+1 < m.depth
}

// Event takes an event. That children have changed counts only where that is not told otherwise.
func (m *Machine) Event(kind jute.EventType, path string) {
	n, all := m.root.find(path), m.link == live && !m.plain // all is told
	above := parentOf(path)
	switch {
	case path != "" && !m.spreads(above), kind == jute.NodeChildrenChanged && all:
	case n == nil:
		if up := m.root.find(above); kind == jute.NodeCreated && up != nil && up.Unread == nil && znode.Validate("/"+path) == nil {
			m.appear(path, above, all)
		}
	case kind == jute.NodeChildrenChanged && n.Unread == nil: // else a listing would make up for the data
		m.want(path, n, names)
	case kind == jute.NodeDeleted:
		m.drop(path)
		m.want(above, m.root.find(above), data) // the answer tells up to which transaction that is
		if path == "" {
			m.want("", m.root, names) // it may be here again
		}
	case kind == jute.NodeCreated, n.Unread != nil: // its end was not told, or all of it is open
		m.want(path, n, data|names)
	default:
		m.want(path, n, data)
	}
}

// appear adds a node. empty: all that comes below it will be told.
func (m *Machine) appear(path, above string, empty bool) {
	up, c := m.edit(above), child{nameOf(path), m.made()}
	i, _ := search(up.kids, c.name)
	up.kids = slices.Insert(up.kids, i, c)
	if m.want(path, c.node, data); !empty {
		m.want(path, c.node, names)
	}
}

// Answer takes the answer to a read; err is its error.
func (m *Machine) Answer(r Read, a *jute.Reply, err error) {
	if m.link != live {
		return
	}
	m.zxid = max(m.zxid, a.Zxid)
	switch n := m.root.find(r.Path); {
	case a.Err == jute.ThrottledOp: // it was not carried out
		m.queue = append(m.queue, r)
	case n == nil || n.want&reads[r.Op] == 0: // it was deleted after that, or is known by an answer before
	case a.Err == jute.NoNode:
		if m.drop(r.Path); m.plain && r.Path == "" && r.Op != jute.OpExists {
			m.want("", m.root, birth)
		}
	case err != nil:
		m.failed(r, n, err)
	case r.Op == jute.OpExists:
		m.set(n, 0)
		m.want("", n, data|names)
	case r.Op == jute.OpGetData:
		m.found(r.Path, n, a)
	default:
		m.listed(r.Path, n, a.Names)
	}
	m.full = m.full || m.count > m.most
}

// found takes a node's data. Names that are to be read too were not asked for yet: what is asked
// first is answered first.
func (m *Machine) found(path string, n *Node, a *jute.Reply) {
	listing := n.want&names != 0 && m.spreads(path) && (a.Stat.NumChildren > 0 || m.plain)
	if m.set(n, 0); !n.read || n.Stat != a.Stat {
		n = m.edit(path)
		n.Data, n.Stat, n.read = a.Data, a.Stat, true
	}
	if n.Unread != nil && !listing { // else it stays until then
		n = m.edit(path)
		n.Unread = nil
	}
	if listing {
		m.want(path, n, names)
	}
}

// listed takes the names of a node's children, but for those that no request can name.
func (m *Machine) listed(path string, n *Node, found []string) {
	m.set(n, n.want&^names)
	found = slices.DeleteFunc(found, func(name string) bool { return strings.Contains(name, "/") || znode.Validate("/a/"+name) != nil })
	slices.Sort(found)
	found = slices.Compact(found)
	kids := make([]child, len(found))
	for i, name := range found {
		if kids[i] = (child{name, n.child(name)}); kids[i].node == nil {
			kids[i].node = m.made()
			m.want(Join(path, name), kids[i].node, data|names)
		}
	}
	for _, c := range n.kids {
		if _, stays := slices.BinarySearch(found, c.name); !stays {
			m.forget(c.node)
		}
	}
	n = m.edit(path)
	n.kids, n.Unread = kids, nil
}

// failed takes the error of a read that was refused.
func (m *Machine) failed(r Read, n *Node, err error) {
	m.unread = true
	has := r.Op == jute.OpGetData && n.Stat != jute.Stat{} // which are not true any more
	if m.set(n, n.want&^(reads[r.Op]|names)); n.read && !has && fmt.Sprint(n.Unread) == fmt.Sprint(err) {
		return
	}
	m.retries, m.retry = 0, time.Time{}
	for _, c := range n.kids {
		m.forget(c.node)
	}
	n = m.edit(r.Path)
	n.kids, n.Unread, n.read = nil, err, true
	if r.Op == jute.OpGetData {
		n.Data, n.Stat = nil, jute.Stat{}
	}
}

func (m *Machine) made() *Node {
	m.count++
	return &Node{gen: m.gen}
}

// drop takes a node out, with all below it.
func (m *Machine) drop(path string) {
	m.forget(m.root.find(path))
	if path == "" {
		m.root, m.changed = m.made(), true
		return
	}
	up := m.edit(parentOf(path))
	i, _ := search(up.kids, nameOf(path))
	up.kids = slices.Delete(up.kids, i, i+1)
}

// forget counts nodes off that are taken out.
func (m *Machine) forget(n *Node) {
	n.all("", func(_ string, n *Node) {
		m.count--
		m.set(n, 0)
	})
}

// edit is a node that may be changed: no tree that was published has it, nor those above it.
func (m *Machine) edit(path string) *Node {
	m.changed = true
	for at := &m.root; ; {
		if (*at).gen != m.gen {
			c := **at
			c.gen, c.kids = m.gen, slices.Clone(c.kids)
			*at = &c
		}
		if path == "" {
			return *at
		}
		var name string
		name, path, _ = strings.Cut(path, "/")
		i, _ := search((*at).kids, name)
		at = &(*at).kids[i].node
	}
}

// Due is the root of the tree to publish now, or nil; the transaction of which it is the state, or
// 0 if it is not known to be whole; and when to ask again: zero if only after something has
// happened.
func (m *Machine) Due(now time.Time) (out *Node, zxid int64, again time.Time) {
	if m.link != live {
		return nil, 0, again
	}
	due := false
	m.walked = m.walked || m.todo[1] == 0
	switch {
	case m.todo == [3]int{}:
		due, zxid = m.changed || m.loose, m.zxid
		m.since, again = time.Time{}, m.rest(now)
	case m.since.IsZero(), now.Sub(m.since) >= patience:
		due = m.changed && m.walked && !m.since.IsZero()
		m.since = now
		fallthrough
	default:
		again = m.since.Add(patience)
	}
	if due {
		out = m.root
		m.gen++
		m.changed, m.loose = false, zxid == 0
	}
	return out, zxid, again
}

// rest has what could not be read read again when it is time for that, and tells when it will be.
func (m *Machine) rest(now time.Time) time.Time {
	switch {
	case !m.unread:
	case m.retry.IsZero():
		m.retry = now.Add(min(shortestRest<<min(m.retries, 16), longestRest))
	case !now.Before(m.retry):
		m.unread, m.retries, m.retry = false, m.retries+1, time.Time{}
		m.root.all("", func(path string, n *Node) {
			if n.Unread != nil {
				m.want(path, n, data|names)
			}
		})
	}
	return m.retry
}
