package zkserver

import (
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
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
	if mode != watch.Recursive || !c.s.as.watchModes {
		c.front.child.Add(path, c, mode)
	}
}

// checkWatches answers whether a watch is set. 3.8 doesn't look whose it is, and this is as it
// does.
func (s *Server) checkWatches(c *conn, q *jute.Request, p *jute.Reply) {
	data, children, code := s.watchKinds(q)
	if code != jute.OK {
		p.Err = code
		return
	}
	p.Err = jute.NoWatcher
	if s.as.watchModes {
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

// watched looks at one table. The real server takes the path apart, and climbs up to the root while
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
	if !s.as.watchModes {
		k.child, k.data = watch.Every, watch.Every
	}
	removed := children && c.front.child.RemoveMode(q.Path, c, k.child)
	removed = data && c.front.data.RemoveMode(q.Path, c, k.data) || removed
	if !removed {
		p.Err = jute.NoWatcher
	}
}

func (s *Server) watchKinds(q *jute.Request) (data, children bool, code jute.Code) {
	last := int32(kindAny)
	if s.as.watchModes {
		last = kindRecursive
	}
	if q.Malformed() || q.Kind < kindChildren || q.Kind > last {
		return false, false, jute.MarshallingError
	}
	return q.Kind != kindChildren, q.Kind != kindData, jute.OK
}
