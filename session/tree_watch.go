package session

import (
	"slices"
	"strings"

	"github.com/troupe-go/troupe/session/internal/watches"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// tree is a watch on a znode and all that is below it: see [Client.Watch]. One request about it is
// under way at a time.
//
// Before 3.9 ZooKeeper has one watch for each path and connection, and what is asked for last
// counts. So there is a tree, or there are watches that were armed by reads of the same path, which
// go first. Watches below the path are not concerned. The fields are guarded by the mutex of its
// owner.
type tree struct {
	path    string // absolute
	clients []*inbox
	asks    []*watchRead // that wait for its answer
	reads   []*watchRead // of the path, with a watch, that take its place
	busy    bool         // a request is under way
	armed   bool
}

// askTree takes a request for a tree; false if the epoch is over.
func (w *watched) askTree(r *watchRead) (taken bool) {
	w.change(func(*watches.Table) {
		taken = true
		w.reads[r] = struct{}{}
		t := w.trees[r.key.Path]
		if t == nil {
			t = &tree{path: r.key.Path}
			w.trees[t.path] = t
		}
		t.asks = append(t.asks, r)
		w.advance(t)
	})
	return taken
}

// advance does what is to be done next, unless a request is under way. Under mu.
func (w *watched) advance(t *tree) {
	switch {
	case t.busy:
	case len(t.reads) > 0 || len(t.asks) > 0 && w.reading(t.path):
		armed := t.armed
		w.drop(t)
		w.answerTree(t, ErrUnsupported)
		if armed {
			w.disarmTree(t)
			return
		}
		delete(w.trees, t.path)
		for _, r := range t.reads {
			w.askTable(r)
		}
	case t.armed && len(t.asks) > 0:
		w.answerTree(t, nil)
		w.advance(t) // those who asked may have left
	case len(t.asks) > 0:
		w.armTree(t)
	case len(t.clients) > 0:
	case t.armed:
		w.disarmTree(t)
	default:
		delete(w.trees, t.path)
	}
}

// reading tells whether a read with a watch has armed one at this path, or may arm one yet: one
// that was sent without, too, is sent again with it if its answer is lost. Under mu.
func (w *watched) reading(path string) bool {
	for r := range w.reads {
		if r.read != nil && r.key.Path == path {
			return true
		}
	}
	return w.table.Has(path)
}

// answerTree answers those who wait. Under mu.
func (w *watched) answerTree(t *tree, err error) {
	for _, r := range t.asks {
		w.pass(r, func() { r.refuse(err) })
		if c := &r.client.inbox; err == nil && !r.forgone && !c.Left() && !slices.Contains(t.clients, c) {
			t.clients = append(t.clients, c)
		}
	}
	t.asks = nil
}

// drop tells those who depend on a tree that it is over. Under mu.
func (w *watched) drop(t *tree) {
	for _, c := range t.clients {
		w.Tell(c, watches.Event{Path: t.path, Type: watches.Removed})
	}
	t.clients, t.armed = nil, false
}

// armTree asks for the watch. If the connection goes meanwhile, the answer is of no use any more.
// Under mu.
func (w *watched) armTree(t *tree) {
	s, e := w.epoch.session, w.epoch
	t.busy = true
	s.tasks.run(func() { // false: the session has ended, and the epoch before it, which refuses them
		var heard int
		err := s.requests.insist(e, bounded(func(c *zkconn.Conn) error {
			w.mu.Lock()
			heard = w.heard
			w.mu.Unlock()
			return c.WatchTree(t.path)
		}))
		w.change(func(*watches.Table) {
			if t.busy = false; err != nil {
				w.answerTree(t, err)
			}
			t.armed = err == nil && heard == w.heard
			w.advance(t)
		})
	})
}

// disarmTree has ZooKeeper forget the watch, on which nobody depends. Under mu.
func (w *watched) disarmTree(t *tree) {
	s, conn := w.epoch.session, w.epoch.conn
	t.busy = true
	s.tasks.run(func() { // false: the session has ended, and its watches with it
		conn.UnwatchTree(t.path)
		w.change(func(*watches.Table) {
			t.busy, t.armed = false, false
			w.advance(t)
		})
	})
}

// fireTrees takes an event. That children have changed is not told by trees, but by their own
// events. Under mu.
func (w *watched) fireTrees(e watches.Event) {
	if e.Type == watches.ChildrenChanged {
		return
	}
	for _, t := range w.trees {
		if t.armed && (e.Path == t.path || strings.HasPrefix(e.Path, strings.TrimSuffix(t.path, "/")+"/")) {
			for _, c := range t.clients {
				w.Tell(c, e)
			}
		}
	}
}

// forgetTree takes back what a client depends on by one tree. Under mu.
func (w *watched) forgetTree(c *inbox, path string) {
	t := w.trees[path]
	if t == nil {
		return
	}
	for _, r := range t.asks {
		r.forgone = r.forgone || &r.client.inbox == c
	}
	t.clients = slices.DeleteFunc(t.clients, func(o *inbox) bool { return o == c })
	w.advance(t)
}

// leaveTrees takes back what a client that has left depends on. Under mu.
func (w *watched) leaveTrees(c *inbox) {
	for path := range w.trees {
		w.forgetTree(c, path)
	}
}
