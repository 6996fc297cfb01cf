package trees

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// Machine keeps a tree. It is used by one goroutine at a time. Paths are relative, "" is the root.
type Machine struct {
	depth int // of what is kept below the root; 0: any
	most  int // nodes
	plain bool

	root    *Node
	gen     uint32 // nodes of another one belong to trees that were published
	count   int    // nodes
	changed bool   // something differs from the tree that was published last
	zxid    int64  // in the last answer

	todo    map[string]task
	queue   []Read // to be asked; some need not be any more
	walking int    // tasks of the first walk
	walked  bool   // everything was read once
	probing bool   // it is not known yet what has changed since zxid

	unread  map[string]struct{} // what could not be read
	retries int                 // of these, in a row
	retry   time.Time           // the next; zero: it is not known yet

	last  *Tree     // as published
	since time.Time // when something was dirty first, or what is not known to be whole was published; zero: nothing is
}

// task is what is to be read of a znode.
type task struct {
	want   aspect
	queued aspect // of that: in the queue, or asked
	walk   bool
}

type aspect uint8

const (
	data aspect = 1 << iota
	names
	birth // of the root
)

// Read is a read of a znode: a getData, a getChildren2, or an exists, which is to see its creation.
type Read struct {
	Path string
	Op   jute.Op
}

func (r Read) aspect() aspect {
	switch r.Op {
	case jute.OpGetData:
		return data
	case jute.OpExists:
		return birth
	}
	return names
}

const (
	patience     = time.Second // after which a tree is published that is not known to be whole
	shortestRest = time.Second // before what could not be read is read again, …
	longestRest  = 5 * time.Minute
)

// New makes a machine that keeps so many levels below the root (0: all), and so many nodes at most.
func New(depth, most int) *Machine {
	m := &Machine{depth: depth, most: most}
	m.Forget()
	return m
}

// Forget forgets what was read. What was published is published no more.
func (m *Machine) Forget() {
	m.root, m.count, m.zxid, m.probing, m.walked, m.walking = nil, 0, 0, false, false, 0
	m.todo, m.queue, m.unread, m.changed = make(map[string]task), nil, make(map[string]struct{}), true
	m.want("", data|names)
}

// SetPlain says that each read arms a watch, rather than that one watch tells of all. What was read
// is forgotten.
func (m *Machine) SetPlain() {
	m.plain = true
	m.Forget()
}

// Full tells that there are more nodes than the machine keeps.
func (m *Machine) Full() bool { return m.count > m.most }

// Down says that the connection is lost: nothing is told any more until [Machine.Probed].
func (m *Machine) Down() {
	m.probing = true
	for path := range m.todo {
		if n := m.root.find(path); n != nil && !n.read {
			m.want(path, data|names) // what came below it meanwhile was not told either
		}
	}
	m.Again()
}

// Again says that what was asked and not answered is to be asked again.
func (m *Machine) Again() {
	m.queue = nil
	for _, path := range slices.Sorted(maps.Keys(m.todo)) {
		t := m.todo[path]
		t.queued = 0
		m.todo[path] = t
		m.enqueue(path, t.want)
	}
}

// Known is the transaction since which changes have to be told, of which paths, after
// [Machine.Down]: their data and, but for the deepest, their children.
func (m *Machine) Known() (zxid int64, data, children []string) {
	m.root.all("", func(path string, n *Node) {
		if !n.read {
			return
		}
		data = append(data, path)
		if m.spreads(path) {
			children = append(children, path)
		}
	})
	return m.zxid, data, children
}

// Probed says that all changes up to a transaction were told.
func (m *Machine) Probed(zxid int64) {
	m.probing = false
	m.zxid = max(m.zxid, zxid)
}

// Refresh has a node read again whatever was told.
func (m *Machine) Refresh(path string) { m.want(path, data|names) }

// Next are the reads to ask now.
func (m *Machine) Next(most int) (reads []Read) {
	for len(m.queue) > 0 && len(reads) < most && !m.Full() {
		r := m.queue[0]
		m.queue = m.queue[1:]
		if t, ok := m.todo[r.Path]; ok && t.want&r.aspect() != 0 {
			reads = append(reads, r)
		}
	}
	if len(m.queue) == 0 {
		m.queue = nil
	}
	return reads
}

// Event takes an event. That children have changed counts only where that is not told otherwise.
func (m *Machine) Event(kind jute.EventType, path string) {
	n := m.root.find(path)
	switch {
	case m.depth > 0 && path != "" && strings.Count(path, "/") >= m.depth:
	case kind == jute.NodeDeleted && n != nil:
		m.drop(path)
		m.want(parentOf(path), data) // the answer tells up to which transaction that is
	case kind == jute.NodeDeleted, kind == jute.NodeChildrenChanged && (n == nil || !m.plain && !m.probing):
	case kind == jute.NodeChildrenChanged:
		m.want(path, names)
	case n == nil:
		m.appear(path, kind == jute.NodeCreated && !m.plain && !m.probing)
	case kind == jute.NodeCreated, n.Unread != nil: // its end was not told, or all of it is open
		m.want(path, data|names)
	default:
		m.want(path, data)
	}
}

// appear adds a node, unless a listing of those beside it is to come. empty: all that comes below
// it will be told.
func (m *Machine) appear(path string, empty bool) {
	if path == "" {
		m.root = m.made()
	} else {
		above := parentOf(path)
		if up := m.root.find(above); up == nil || up.Unread != nil || m.todo[above].want&names != 0 {
			return
		}
		kids := m.owned(m.edit(above))
		name := path[len(Join(above, "")):]
		i, _ := search(kids.list, name)
		kids.list = slices.Insert(kids.list, i, child{name, m.made()})
	}
	if empty {
		m.want(path, data)
	} else {
		m.want(path, data|names)
	}
}

// Answer takes the answer to a read, with the newest transaction that it has seen.
func (m *Machine) Answer(r Read, a *jute.Result, err error, zxid int64, missing bool) {
	m.zxid = max(m.zxid, zxid)
	n := m.root.find(r.Path)
	switch {
	case r.Op == jute.OpExists:
		m.done(r.Path, birth)
		if err == nil && n == nil {
			m.want(r.Path, data|names)
		}
	case missing:
		m.drop(r.Path)
		if m.plain && r.Path == "" {
			m.want("", birth)
		}
	case r.Path == "" && n == nil:
		m.root = m.made()
		m.want("", data|names)
		m.Answer(r, a, err, zxid, false)
	case n == nil: // it was deleted after that, or before and is not here again
	case err != nil:
		m.failed(r, n, err)
	case r.Op == jute.OpGetData:
		m.found(r.Path, n, a)
	default:
		m.listed(r.Path, n, a.Names)
	}
}

// found takes a node's data.
func (m *Machine) found(path string, n *Node, a *jute.Result) {
	t := m.todo[path]
	listing := t.want&names != 0 && (t.queued&names != 0 || a.Stat.NumChildren > 0 || m.plain || n.kids != nil)
	var unread error
	if listing {
		unread = n.Unread // until then
	}
	if !n.read || n.Stat != a.Stat || !n.same(a.Data, &a.Stat, unread) {
		e := m.edit(path)
		e.Data, e.Stat, e.Unread, e.read = a.Data, a.Stat, unread, true
	}
	switch {
	case !listing:
		m.done(path, names)
	case t.queued&names == 0:
		m.enqueue(path, names)
	}
	m.done(path, data)
}

// listed takes the names of a node's children.
func (m *Machine) listed(path string, n *Node, found []string) {
	m.done(path, names)
	found = slices.DeleteFunc(found, func(name string) bool { return name == "" || strings.Contains(name, "/") })
	slices.Sort(found)
	found = slices.Compact(found)
	before := n.children()
	if n.Unread == nil && slices.EqualFunc(before, found, func(c child, name string) bool { return c.name == name }) {
		return
	}
	for _, c := range before {
		if _, stays := slices.BinarySearch(found, c.name); !stays {
			m.forget(Join(path, c.name), c.node)
		}
	}
	list := make([]child, len(found))
	for i, name := range found {
		if list[i] = (child{name, n.child(name)}); list[i].node == nil {
			list[i].node = m.made()
			m.want(Join(path, name), data|names)
		}
	}
	e := m.edit(path)
	e.kids, e.Unread = &kids{m.gen, list}, nil
}

// failed takes the error of a read that was refused.
func (m *Machine) failed(r Read, n *Node, err error) {
	if r.Op == jute.OpGetData {
		m.done(r.Path, names) // a listing that is under way does not matter any more
	}
	m.done(r.Path, r.aspect())
	m.unread[r.Path] = struct{}{}
	if n.read && text(n.Unread) == text(err) {
		return
	}
	m.retries, m.retry = 0, time.Time{}
	for _, c := range n.children() {
		m.forget(Join(r.Path, c.name), c.node)
	}
	e := m.edit(r.Path)
	e.kids, e.Unread, e.read = nil, err, true
	if r.Op == jute.OpGetData {
		e.Data, e.Stat = nil, jute.Stat{}
	}
}

// Due is the tree to publish now, or nil, and when to ask again: zero if only after something has
// happened.
func (m *Machine) Due(now time.Time) (out *Tree, again time.Time) {
	if m.probing || m.Full() {
		m.since = time.Time{}
		if m.last != nil && !m.last.Stale && m.probing {
			out = &Tree{m.last.Root, m.last.Zxid, true}
			m.last = out
		}
		return out, again
	}
	settled := len(m.todo) == 0
	switch m.walked = m.walked || m.walking == 0; {
	case settled:
		m.since = time.Time{}
		if m.changed || m.last == nil || m.last.Stale || m.last.Zxid == 0 {
			out = m.publish(m.zxid)
		}
		again = m.rest(now)
	case m.since.IsZero():
		m.since = now
		fallthrough
	default:
		if now.Sub(m.since) >= patience {
			m.since = now
			if m.changed && m.walked {
				out = m.publish(0)
			}
		}
		again = m.since.Add(patience)
	}
	return out, again
}

func (m *Machine) publish(zxid int64) *Tree {
	m.gen++
	m.changed, m.last = false, &Tree{Root: m.root, Zxid: zxid}
	if len(m.todo) == 0 {
		m.todo = make(map[string]task) // which frees the memory of many
	}
	return m.last
}

// rest has what could not be read read again when it is time for that, and tells when it will be.
func (m *Machine) rest(now time.Time) time.Time {
	if len(m.unread) == 0 {
		m.retries, m.retry = 0, time.Time{}
		return time.Time{}
	}
	if m.retry.IsZero() {
		m.retry = now.Add(min(shortestRest<<min(m.retries, 16), longestRest))
	}
	if now.Before(m.retry) {
		return m.retry
	}
	m.retries, m.retry = m.retries+1, time.Time{}
	for _, path := range slices.Sorted(maps.Keys(m.unread)) {
		delete(m.unread, path)
		m.want(path, data|names)
	}
	return now // there is something to ask
}
