package contend

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// watches are the one-shot watches that were asked for in this epoch: two, but for what earlier
// looks have left. So a slice is small and quick.
type watches struct {
	requests *requests
	all      []*watch
}

// watch outlives a look, as the watch at the server does: a path whose read is under way is not
// read a second time, and an event that comes while it is under way is not forgotten over the
// answer.
type watch struct {
	path  string
	armed bool // an answered read armed it and it has not fired since
	stale bool // the answer under way will not do: it fired, or had to be read anew, since that was asked for
}

func (ws *watches) of(path string) *watch {
	for _, w := range ws.all {
		if w.path == path {
			return w
		}
	}
	return nil
}

// reading: a read of the path is under way.
func (ws *watches) reading(path string) bool { return ws.requests.Pending(request{watching, path}) }

func (ws *watches) drop(path string) {
	ws.requests.Forget(request{watching, path})
	ws.all = slices.DeleteFunc(ws.all, func(w *watch) bool { return w.path == path })
}

// armed: the path stands as far as is known, and its end will be heard of.
func (ws *watches) armed(path string) bool {
	w := ws.of(path)
	return w != nil && w.armed
}

// read reads a path and watches it. If such a read is under way already, its answer will do.
func (ws *watches) read(path string, watched bool) {
	w := ws.of(path)
	if w == nil {
		w = &watch{path: path}
		ws.all = append(ws.all, w)
	}
	w.armed = false
	if !ws.reading(path) {
		ws.requests.Ask(machine.Read{Path: path, Watch: watched}, request{watching, path})
	}
}

// overtaken notes that the answer to a read under way will not do; false if none is.
func (ws *watches) overtaken(path string) bool {
	if !ws.reading(path) {
		return false
	}
	ws.of(path).stale = true
	return true
}

// unwatch gives the watch of a path back that nobody waits for any more: it may stand for as long
// as whoever is there.
func (ws *watches) unwatch(path string) {
	if ws.of(path) != nil {
		ws.drop(path)
		ws.requests.Emit(machine.Unwatch{Epoch: ws.requests.Epoch(), Path: path})
	}
}

// answered takes the answer to a read. stale: it will not do.
func (ws *watches) answered(e machine.Seen) (stale bool) {
	w := ws.of(e.Path)
	stale, w.stale = w.stale, false
	stands := e.Err == nil && e.Exists
	w.armed = stands && !stale
	if !stands {
		ws.drop(e.Path) // nothing is armed
	}
	return stale
}

// fired: the watch of a path is spent. reading: what comes of it shows when the read under way is
// answered.
func (ws *watches) fired(path string) (reading bool) {
	if ws.overtaken(path) {
		ws.of(path).armed = false
		return true
	}
	ws.drop(path)
	return false
}
