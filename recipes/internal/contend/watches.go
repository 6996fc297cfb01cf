package contend

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// watches are the one-shot watches of this epoch: two, and those that earlier listings left. So a
// slice is fast enough.
type watches struct {
	requests *machine.Requests[request]
	all      []*watch
}

// watch outlives a listing, as the watch at the server does. A path is not read again while a read
// of it is pending, and an event that comes meanwhile is remembered.
type watch struct {
	path        string
	armed       bool // an answered read set it, or the session follows the znode, and it has not fired since
	sameSession bool // ZooKeeper has no watch: the session follows the znode
	stale       bool // the pending answer is too old: the watch fired, or a newer read is needed
}

func (ws *watches) of(path string) *watch {
	for _, w := range ws.all {
		if w.path == path {
			return w
		}
	}
	return nil
}

// reading tells whether a read of the path is pending.
func (ws *watches) reading(path string) bool { return ws.requests.Pending(request{watching, path}) }

func (ws *watches) drop(path string) {
	ws.requests.Forget(request{watching, path})
	ws.all = slices.DeleteFunc(ws.all, func(w *watch) bool { return w.path == path })
}

// armed tells whether the znode exists as far as is known, and its deletion will be noticed.
func (ws *watches) armed(path string) bool {
	w := ws.of(path)
	return w != nil && w.armed
}

// watched tells whether ZooKeeper has a watch on the path.
func (ws *watches) watched(path string) bool {
	w := ws.of(path)
	return w != nil && w.armed && !w.sameSession
}

// read reads a path with a watch. If such a read is pending already, its answer will do.
func (ws *watches) read(r machine.Read) {
	w := ws.of(r.Path)
	if w == nil {
		w = &watch{path: r.Path}
		ws.all = append(ws.all, w)
	}
	w.armed = w.armed && !w.sameSession
	if !ws.reading(r.Path) {
		ws.requests.Ask(r, request{watching, r.Path})
	}
}

// overtaken marks a pending read as too old; false if there is none.
func (ws *watches) overtaken(path string) bool {
	if !ws.reading(path) {
		return false
	}
	ws.of(path).stale = true
	return true
}

// unwatch removes the watch of a path that is not needed any more. Otherwise it would stay at the
// server for as long as that znode exists.
func (ws *watches) unwatch(path string) {
	if ws.of(path) != nil {
		ws.drop(path)
		ws.requests.Emit(machine.Unwatch{Epoch: ws.requests.Epoch(), Path: path})
	}
}

// answered takes the answer to a read. stale: the answer is too old.
func (ws *watches) answered(e machine.Seen) (stale bool) {
	w := ws.of(e.Path)
	stale, w.stale = w.stale, false
	exists := e.Err == nil && e.Exists
	w.armed, w.sameSession = exists && !stale, e.SameSession
	if !exists {
		ws.drop(e.Path) // no watch was set
	}
	return stale
}

// fired forgets the watch of a path. reading: a read is pending, and its answer decides what to do.
func (ws *watches) fired(path string) (reading bool) {
	if ws.overtaken(path) {
		ws.of(path).armed = false
		return true
	}
	ws.drop(path)
	return false
}
