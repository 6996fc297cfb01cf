package zkserver

import (
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/watch"
)

// setWatches sets the watches of a client that has reconnected, and fires at once those whose cause
// it has missed. Like the real server it does what it can before it stumbles over a null.
func (s *Server) setWatches(c *conn, q *jute.Request, p *jute.Reply) {
	if q.Malformed() || !c.rewatch(q) {
		p.Err = jute.MarshallingError
	}
}

func (c *conn) rewatch(q *jute.Request) bool {
	f := c.front
	return each(q.DataW, func(path string) {
		switch n := f.tree.Get(path); {
		case n == nil:
			c.missed(jute.NodeDeleted, path, n)
		case n.Mzxid() > q.Zxid:
			c.missed(jute.NodeDataChanged, path, n)
		default:
			f.data.Add(path, c, watch.Once)
		}
	}) && each(q.ExistW, func(path string) {
		if n := f.tree.Get(path); n != nil {
			c.missed(jute.NodeCreated, path, n)
			return
		}
		f.data.Add(path, c, watch.Once)
	}) && each(q.ChildW, func(path string) {
		switch n := f.tree.Get(path); {
		case n == nil:
			c.missed(jute.NodeDeleted, path, n)
		case n.Pzxid() > q.Zxid:
			c.missed(jute.NodeChildrenChanged, path, n)
		default:
			f.child.Add(path, c, watch.Once)
		}
	}) && (q.Op == jute.OpSetWatches || c.persist(q.PersistW, watch.Persistent) && c.persist(q.RecursW, watch.Recursive))
}

// missed tells what a client has missed, of a znode that is gone or as it is now.
func (c *conn) missed(kind jute.EventType, path string, n *tree.Node) {
	if n == nil || !c.s.as.missedNeedsRead || tree.Allowed(n.ACL(), jute.PermRead, c.who) {
		c.notify(kind, path, noZxid)
	}
}

// persist sets watches that stay, also on null, which never fire. What the client missed nobody
// knows.
func (c *conn) persist(paths []string, mode watch.Mode) bool {
	for _, path := range paths {
		c.stay(path, mode)
	}
	return paths != nil
}

// each visits the paths of one list; false if it is null or one of them is.
func each(paths []string, visit func(string)) bool {
	for _, path := range paths {
		if path == jute.Null {
			return false
		}
		visit(path)
	}
	return paths != nil
}
