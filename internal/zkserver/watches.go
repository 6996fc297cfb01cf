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

var persistentKinds = map[int32]watch.Mode{kindPersistent: watch.Persistent, kindRecursive: watch.Recursive}

// addWatch sets a persistent watch, recursive or not. Like 3.8 it puts it into both tables, where it takes the place of the connection's other watch
// on that path.
func (s *Server) addWatch(c *conn, q *jute.Request, p *jute.Reply) {
	modes := map[int32]watch.Mode{0: watch.Persistent, 1: watch.Recursive}
	mode, known := modes[q.Flags]
	if q.Malformed() || !known {
		p.Err = jute.MarshallingError
		return
	}
	c.front.data.Add(q.Path, c, mode)
	c.front.child.Add(q.Path, c, mode)
}

// checkWatches answers whether a watch is set. 3.8 doesn't look whose it is, and this is as it does.
func (s *Server) checkWatches(c *conn, q *jute.Request, p *jute.Reply) {
	data, children, code := s.watchKinds(q)
	if code != jute.OK {
		p.Err = code
		return
	}
	p.Err = jute.NoWatcher
	if q.Kind >= kindPersistent {
		if c.front.data.HasMode(q.Path, c, persistentKinds[q.Kind]) {
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

// watched looks at one table. The real server takes the path apart, and climbs up to the root while any recursive watch is set; it stumbles over what
// isn't a path.
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
	if q.Kind >= kindPersistent && !c.front.data.HasMode(q.Path, c, persistentKinds[q.Kind]) {
		p.Err = jute.NoWatcher
		return
	}
	removed := children && c.front.child.Remove(q.Path, c)
	removed = data && c.front.data.Remove(q.Path, c) || removed
	if !removed {
		p.Err = jute.NoWatcher
	}
}

func (s *Server) watchKinds(q *jute.Request) (data, children bool, code jute.Code) {
	last := int32(kindAny)
	if s.as.watchKinds {
		last = kindRecursive
	}
	if q.Malformed() || q.Kind < kindChildren || q.Kind > last {
		return false, false, jute.MarshallingError
	}
	return q.Kind != kindChildren, q.Kind != kindData, jute.OK
}
