package zkserver

import (
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// commit gives a transaction its number, applies it and passes it on to the fronts. A failed write is a transaction without changes: it uses up a
// number too. done, if not nil, is called after each change with the node concerned, nil if it is gone. The events are counted.
func (s *Server) commit(t *txn, done func(i int, n *tree.Node)) (fired int) {
	s.zxid++
	t.zxid, t.time = s.zxid, s.now()
	for i := range t.changes {
		n := s.tree.Apply(&t.changes[i], t.zxid, t.time)
		if done != nil {
			done(i, n)
		}
		for _, f := range s.fronts {
			if !f.behind {
				fired += f.fire(&t.changes[i])
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
	return fired
}

// fire tells the clients of this front what a change did, in the order of the real server.
func (f *Front) fire(c *tree.Change) (fired int) {
	switch c.Kind {
	case tree.Create:
		fired += f.trigger(f.data, jute.NodeCreated, c.Path)
		fired += f.trigger(f.child, jute.NodeChildrenChanged, parentName(c.Path))
	case tree.Delete:
		fired += f.deleted(c.Path)
		fired += f.trigger(f.child, jute.NodeChildrenChanged, parentName(c.Path))
	case tree.SetData:
		fired += f.trigger(f.data, jute.NodeDataChanged, c.Path)
	}
	return fired
}

// deleted fires both kinds of watches of a path; who had both is told once.
func (f *Front) deleted(path string) (fired int) {
	var told map[*conn]struct{}
	if f.data.Watches(path) && f.child.Watches(path) {
		told = make(map[*conn]struct{})
	}
	f.data.Fire(path, func(c *conn) {
		if told != nil {
			told[c] = struct{}{}
		}
		c.notify(jute.NodeDeleted, path)
		fired++
	})
	f.child.Fire(path, func(c *conn) {
		if _, twice := told[c]; !twice {
			c.notify(jute.NodeDeleted, path)
			fired++
		}
	})
	return fired
}

func (f *Front) trigger(t *watchTable, kind jute.EventType, path string) (fired int) {
	t.Fire(path, func(c *conn) {
		c.notify(kind, path)
		fired++
	})
	return fired
}

// parentName is the name under which clients watch a parent.
func parentName(path string) string {
	if p := tree.Parent(path); p != "" {
		return p
	}
	return "/"
}
