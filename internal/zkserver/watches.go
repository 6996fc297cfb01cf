package zkserver

import (
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/watch"
)

// The kinds of watches that checkWatches and removeWatches name.
const (
	kindChildren = 1
	kindData     = 2
	kindAny      = 3

	kindPersistent = 4 // since 3.9
	kindRecursive  = 5
)

// kinds are the modes of the watches on children, and of those on data, that a kind names since 3.9
// (ZOOKEEPER-4471, ZOOKEEPER-4472).
var kinds = map[int32]struct{ child, data watch.Mode }{
	kindChildren:   {child: watch.Once},
	kindData:       {data: watch.Once},
	kindAny:        {child: watch.Every, data: watch.Every},
	kindPersistent: {child: watch.Persistent, data: watch.Persistent},
	kindRecursive:  {data: watch.Recursive},
}

// addWatch sets a persistent watch, recursive or not.
func (s *Server) addWatch(c *conn, q *jute.Request, p *jute.Reply) {
	modes := map[int32]watch.Mode{0: watch.Persistent, 1: watch.Recursive}
	mode, known := modes[q.Flags]
	if q.Malformed() || !known {
		p.Err = jute.MarshallingError
		return
	}
	c.stay(q.Path, mode)
}

// stay sets a watch that stays, in both tables; since 3.9 a recursive one, which is not told of
// changed children, is not among those on children (ZOOKEEPER-4475).
func (c *conn) stay(path string, mode watch.Mode) {
	c.front.data.Add(path, c, mode)
	if mode != watch.Recursive || !c.s.dialect.watchModes {
		c.front.child.Add(path, c, mode)
	}
}

// checkWatches answers whether a watch is set: in 3.8 by any client, since 3.9 by this one.
func (s *Server) checkWatches(c *conn, q *jute.Request, p *jute.Reply) {
	data, children, code := s.watchKinds(q)
	if code != jute.OK {
		p.Err = code
		return
	}
	p.Err = jute.NoWatcher
	if s.dialect.watchModes {
		if k := kinds[q.Kind]; c.front.child.HasMode(q.Path, c, k.child) || c.front.data.HasMode(q.Path, c, k.data) {
			p.Err = jute.OK
		}
		return
	}
	if children {
		p.Err = watched(c.front.child, q.Path)
	}
	if data && p.Err == jute.NoWatcher {
		p.Err = watched(c.front.data, q.Path)
	}
}

// watched checks one table. The real server takes the path apart, and climbs up to the root while
// any recursive watch is set; it stumbles over what isn't a path.
func watched(t *watchTable, path string) jute.Code {
	climbs := t.Recursive() && !strings.HasPrefix(path, "/")
	switch {
	case path == "":
		return jute.NoWatcher
	case path == jute.Null, !strings.Contains(path, "/"):
		return jute.MarshallingError
	case t.Watches(path):
		return jute.OK
	case climbs:
		return jute.MarshallingError
	}
	return jute.NoWatcher
}

// removeWatches takes the connection's watches on a path back.
func (s *Server) removeWatches(c *conn, q *jute.Request, p *jute.Reply) {
	data, children, code := s.watchKinds(q)
	if code != jute.OK {
		p.Err = code
		return
	}
	k := kinds[q.Kind]
	if !s.dialect.watchModes {
		k.child, k.data = watch.Every, watch.Every
	}
	fromChild := children && c.front.child.RemoveMode(q.Path, c, k.child)
	fromData := data && c.front.data.RemoveMode(q.Path, c, k.data)
	if !fromChild && !fromData {
		p.Err = jute.NoWatcher
	}
}

// watchKinds tells of which tables a kind is. Since 3.9 the modes of kinds tell it more exactly.
func (s *Server) watchKinds(q *jute.Request) (data, children bool, code jute.Code) {
	last := int32(kindAny)
	if s.dialect.watchModes {
		last = kindRecursive
	}
	if q.Malformed() || q.Kind < kindChildren || q.Kind > last {
		return false, false, jute.MarshallingError
	}
	return q.Kind != kindChildren, q.Kind != kindData, jute.OK
}

// setWatches sets the watches of a client that has reconnected, and fires at once those whose cause
// it has missed. Like the real server it does what it can before it stumbles over a null.
func (s *Server) setWatches(c *conn, q *jute.Request, p *jute.Reply) {
	if q.Malformed() || !c.rewatch(q) {
		p.Err = jute.MarshallingError
	}
}

// rewatch goes through the lists in order, up to the first null: then it is false.
func (c *conn) rewatch(q *jute.Request) bool {
	f := c.front
	return eachPath(q.DataW, func(path string) {
		switch n := f.tree.Get(path); {
		case n == nil:
			c.missed(jute.NodeDeleted, path, n)
		case n.Mzxid() > q.Zxid:
			c.missed(jute.NodeDataChanged, path, n)
		default:
			f.data.Add(path, c, watch.Once)
		}
	}) && eachPath(q.ExistW, func(path string) {
		if n := f.tree.Get(path); n != nil {
			c.missed(jute.NodeCreated, path, n)
			return
		}
		f.data.Add(path, c, watch.Once)
	}) && eachPath(q.ChildW, func(path string) {
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
	if n == nil || !c.s.dialect.missedNeedsRead || tree.Allowed(n.ACL(), jute.PermRead, c.who) {
		c.notify(kind, path, noZxid)
	}
}

// persist sets watches that stay, also on null, which never fire. The server does not know which
// events the client missed.
func (c *conn) persist(paths []string, mode watch.Mode) bool {
	for _, path := range paths {
		c.stay(path, mode)
	}
	return paths != nil
}

// eachPath visits the paths of one list; false if it is null or one of them is.
func eachPath(paths []string, visit func(string)) bool {
	for _, path := range paths {
		if path == jute.Null {
			return false
		}
		visit(path)
	}
	return paths != nil
}
