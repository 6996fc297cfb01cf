package consume

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// wire is what the parts of a machine share: the requests, and what is done about those that fail.
type wire struct {
	machine.Requests[key]
	root     layout.Root
	closing  bool            // nothing new is begun
	tries    int             // of what was refused
	retries  int             // of what could not be read
	unlucky  bool            // something was refused in this step: the next consumer in line may have more luck
	removing int             // own znodes that stand for nothing and are being deleted
	told     map[string]bool // paths that mean nothing to a queue, and were reported
	avoided  map[string]bool // paths of what cannot be read or changed, for a while
}

// once asks unless that is being asked.
func (w *wire) once(r machine.Request, k key) {
	if !w.Pending(k) {
		w.Ask(r, k)
	}
}

func (w *wire) busy(p purpose) bool { return w.Pending(key{purpose: p}) }

// refused waits before what was refused is tried again: a right that was taken away may come back.
func (w *wire) refused(path string, err error) {
	w.Emit(Skipped{Path: path, Err: err, Blocks: true})
	w.unlucky = true
	w.pause()
}

// pause waits a while before anything else is asked.
func (w *wire) pause() {
	w.tries++
	w.Ask(machine.Wake{Try: w.tries}, key{purpose: pausing})
}

// skip reports what is passed over, and tries it again later.
func (w *wire) skip(path string, err error) {
	w.avoided[path] = true
	w.Emit(Skipped{Path: path, Err: err})
	if !w.busy(retrying) {
		w.retries++
		w.Ask(machine.Wake{Try: w.retries}, key{purpose: retrying})
	}
}

// report reports what is in a listing and means nothing, once.
func (w *wire) report(parent string, names []string, means func(name string) bool) {
	for _, name := range names {
		if !means(name) {
			w.foreign(znode.Join(parent, name))
		}
	}
}

// foreign reports a znode that means nothing, once.
func (w *wire) foreign(path string) {
	if !w.told[path] {
		w.told[path] = true
		w.Emit(Skipped{Path: path, Err: errForeign})
	}
}

// remove deletes an ephemeral znode of its own that stands for nothing any more.
func (w *wire) remove(path string) {
	if k := (key{removing, path}); !w.Pending(k) {
		w.removing++
		w.Ask(machine.Remove{Path: path}, k)
	}
}

// prepare makes the znodes that a queue always has, one after the other.
func (w *wire) prepare() { w.prepareNext(0) }

func (w *wire) prepareNext(n int) {
	path := w.root.Base()[n]
	w.once(machine.Ensure{Path: path}, key{preparing, path})
}

func (w *wire) isPreparing() bool {
	for _, path := range w.root.Base() {
		if w.Pending(key{preparing, path}) {
			return true
		}
	}
	return false
}

func (w *wire) onPrepared(path string, ev machine.Ensured) {
	if ev.Code != machine.Done {
		w.refused(path, ev.Err)
		return
	}
	base := w.root.Base()
	for n := range base {
		if base[n] == path && n+1 < len(base) {
			w.prepareNext(n + 1)
		}
	}
}
