package zkserver

import (
	"github.com/troupe-go/troupe/internal/jute"
)

// setWatches sets the watches of a client that has reconnected, and fires at once those whose cause it has missed.
func (s *Server) setWatches(c *conn, q *jute.Request, p *jute.Reply) {
	if q.Malformed() {
		p.Err = jute.MarshallingError
		return
	}
	f := c.front
	for _, path := range q.DataW {
		switch n := f.tree.Get(path); {
		case n == nil:
			c.notify(jute.NodeDeleted, path)
		case n.Mzxid() > q.Zxid:
			c.notify(jute.NodeDataChanged, path)
		default:
			f.data.Add(path, c)
		}
	}
	for _, path := range q.ExistW {
		if f.tree.Get(path) != nil {
			c.notify(jute.NodeCreated, path)
			continue
		}
		f.data.Add(path, c)
	}
	for _, path := range q.ChildW {
		switch n := f.tree.Get(path); {
		case n == nil:
			c.notify(jute.NodeDeleted, path)
		case n.Pzxid() > q.Zxid:
			c.notify(jute.NodeChildrenChanged, path)
		default:
			f.child.Add(path, c)
		}
	}
}
