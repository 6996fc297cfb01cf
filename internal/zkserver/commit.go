package zkserver

import (
	"cmp"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// commit gives a transaction its number, applies it and passes it on to the fronts: those that are
// behind append it to what they apply later, the others fire their watches and end the connection
// of a session that it ends. A failed write is a transaction without changes: it uses up a number
// too. done, if not nil, is called after each change with the node concerned, nil for a mere check.
func (s *Server) commit(t *txn, done func(i int, n *tree.Node)) {
	s.zxid++
	t.zxid, t.time = s.zxid, s.now()
	for i := range t.changes {
		n := s.tree.Apply(&t.changes[i], t.zxid, t.time)
		if done != nil {
			done(i, n)
		}
		for _, f := range s.fronts {
			if !f.behind {
				f.fire(&t.changes[i], n, t.zxid)
			}
		}
	}
	for _, f := range s.fronts {
		if f.behind {
			f.pending = append(f.pending, t)
			f.follow(f.lag)
			continue
		}
		f.applied = t.zxid
		if t.ends != 0 {
			f.evict(t.ends)
		}
	}
	s.armReaper()
	s.waiters = slices.DeleteFunc(s.waiters, func(w *waiter) bool {
		over := w.done(s.tree, len(s.sessions))
		if over {
			close(w.over)
		}
		return over
	})
}

// news is a change that watchers are told of: the event, the znode, the transaction, and the ACL
// that says which clients may read it.
type news struct {
	kind jute.EventType
	path string
	acl  []jute.ACL
	zxid int64
}

// fire tells the clients of this front what a change to n did, in the order of the real server.
//
// Watches fire only below [Front.fireKind] and [Front.fireDeleted]; [conn.tell] sends the event to
// one client.
func (f *Front) fire(c *tree.Change, n *tree.Node, zxid int64) {
	if n == nil {
		return
	}
	switch c.Kind {
	case tree.Create:
		f.fireKind(f.data, news{jute.NodeCreated, c.Path, n.ACL(), zxid})
		f.fireKind(f.child, news{jute.NodeChildrenChanged, named(tree.Parent(c.Path)), n.Parent().ACL(), zxid})
	case tree.Delete:
		f.fireDeleted(news{jute.NodeDeleted, c.Path, n.ACL(), zxid})
		f.fireKind(f.child, news{jute.NodeChildrenChanged, named(tree.Parent(c.Path)), n.Parent().ACL(), zxid})
	case tree.SetData:
		f.fireKind(f.data, news{jute.NodeDataChanged, c.Path, n.ACL(), zxid})
	}
}

// fireDeleted fires both kinds of watches of a path; a client that had both is told once.
func (f *Front) fireDeleted(ev news) {
	var told map[*conn]struct{}
	if f.child.Len() > 0 && f.data.Len() > 0 {
		told = make(map[*conn]struct{})
	}
	f.data.Fire(ev.path, false, func(c *conn) {
		if told != nil {
			told[c] = struct{}{}
		}
		c.tell(ev)
	})
	f.child.Fire(ev.path, false, func(c *conn) {
		if _, twice := told[c]; !twice {
			c.tell(ev)
		}
	})
}

// fireKind fires one kind of watches. Recursive ones are not told that the children of a znode have
// changed: they are told of each child.
func (f *Front) fireKind(t *watchTable, ev news) {
	ofChildren := ev.kind == jute.NodeChildrenChanged
	t.Fire(ev.path, ofChildren, func(c *conn) { c.tell(ev) })
}

// tell sends an event to a client that may read the znode. For another client the watch is used up
// and nothing is said, as in servers with the correction of CVE-2024-23944.
func (c *conn) tell(ev news) {
	if tree.Allowed(ev.acl, jute.PermRead, c.who) {
		c.notify(ev.kind, ev.path, ev.zxid)
	}
}

// named is the name under which clients know a node: the root is "" only in the tree.
func named(path string) string { return cmp.Or(path, "/") }
