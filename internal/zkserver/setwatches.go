package zkserver

import (
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/watch"
)

// setWatches sets the watches of a client that has reconnected, and fires at once those whose cause it has missed. Like the real server it does what
// it can before it stumbles over a null.
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
			c.notify(jute.NodeDeleted, path)
		case n.Mzxid() > q.Zxid:
			c.notify(jute.NodeDataChanged, path)
		default:
			f.data.Add(path, c, watch.Once)
		}
	}) && each(q.ExistW, func(path string) {
		if f.tree.Get(path) != nil {
			c.notify(jute.NodeCreated, path)
			return
		}
		f.data.Add(path, c, watch.Once)
	}) && each(q.ChildW, func(path string) {
		switch n := f.tree.Get(path); {
		case n == nil:
			c.notify(jute.NodeDeleted, path)
		case n.Pzxid() > q.Zxid:
			c.notify(jute.NodeChildrenChanged, path)
		default:
			f.child.Add(path, c, watch.Once)
		}
	}) && (q.Op == jute.OpSetWatches || c.persist(q.PersistW, watch.Persistent) && c.persist(q.RecursW, watch.Recursive))
}

// persist sets watches that stay, also on null, which never fire. What the client missed nobody knows.
func (c *conn) persist(paths []string, mode watch.Mode) bool {
	for _, path := range paths {
		c.front.child.Add(path, c, mode)
		c.front.data.Add(path, c, mode)
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
