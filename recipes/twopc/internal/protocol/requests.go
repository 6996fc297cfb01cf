package protocol

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// requests are the pending requests and the watches of a machine, each with the function that it
// calls. They belong to one epoch and end with it; pauses do not.
type requests struct {
	machine.Requests[*handler]
	session int64
	zxid    int64 // the latest zxid in any reply, over all epochs
	now     int64 // the latest server time in any reply, in milliseconds
	watches map[string][]watcher
}

// handler handles the reply to a request.
type handler struct{ handle func(machine.Event) }

// watcher is called when the watch on a path fires. A path may have two: of an old transaction and
// of a new one with the same id.
type watcher struct {
	who   any
	fired func()
}

func newRequests() *requests { return &requests{watches: map[string][]watcher{}} }

func (r *requests) begin(ev machine.EpochBegan) {
	r.end()
	r.Begin(ev.Epoch)
	r.session = ev.SessionID
}

func (r *requests) end() {
	r.End()
	clear(r.watches)
}

func ask[E machine.Event](r *requests, request machine.Request, f func(E)) *handler {
	h := &handler{func(ev machine.Event) { f(ev.(E)) }}
	r.Ask(request, h)
	return h
}

func (r *requests) watch(path string, w watcher) {
	if !slices.ContainsFunc(r.watches[path], func(o watcher) bool { return o.who == w.who }) {
		r.watches[path] = append(r.watches[path], w)
	}
}

// unwatch removes a watcher.
func (r *requests) unwatch(path string, who any) {
	rest := slices.DeleteFunc(r.watches[path], func(w watcher) bool { return w.who == who })
	if len(rest) == 0 {
		delete(r.watches, path)
		return
	}
	r.watches[path] = rest
}

// read reads a znode.
func (r *requests) read(path string, f func(machine.Seen)) { ask(r, machine.Read{Path: path}, f) }

// readWatch reads a znode, with a watch.
func (r *requests) readWatch(path string, w watcher, f func(machine.Seen)) {
	r.watch(path, w)
	ask(r, machine.Read{Path: path, Watch: true}, f)
}

// list lists a znode's children.
func (r *requests) list(path string, f func(machine.Listed)) { ask(r, machine.List{Path: path}, f) }

// listWatch lists a znode's children, with a watch, for one purpose only.
func (r *requests) listWatch(path string, fired func(), f func(machine.Listed)) {
	r.watch(path, watcher{r, fired})
	ask(r, machine.List{Path: path, Watch: true}, f)
}

func (r *requests) transact(f func(machine.Transacted), ops ...machine.Op) {
	ask(r, machine.Transact{Ops: ops}, f)
}

func (r *requests) remove(path string, f func()) {
	ask(r, machine.Remove{Path: path}, func(machine.Removed) { f() })
}

// ensure creates containers, one per path, and calls f when the last one exists, with the first
// definite error.
func (r *requests) ensure(f func(error), paths ...string) {
	left, failed := len(paths), error(nil)
	for _, path := range paths {
		ask(r, machine.Ensure{Path: path, Container: true}, func(ev machine.Ensured) {
			if ev.Code == machine.Refused && failed == nil {
				failed = ev.Err
			}
			if left--; left == 0 {
				f(failed)
			}
		})
	}
}

// pause calls f after a number of milliseconds, in any epoch. The returned function cancels it.
func (r *requests) pause(ms int64, f func()) (cancel func()) {
	return r.wake(machine.Wake{After: ms}, f)
}

// retry calls f after the pause for the try-th attempt. The returned function cancels it.
func (r *requests) retry(try int, f func()) (cancel func()) {
	return r.wake(machine.Wake{Try: try}, f)
}

func (r *requests) wake(after machine.Wake, f func()) (cancel func()) {
	h := ask(r, after, func(machine.Woke) { f() })
	return func() { r.Cancel(h) }
}

// answer passes a reply or an event on. It ignores those of other epochs, and those that are no
// longer waited for.
func (r *requests) answer(ev machine.Event) {
	r.note(ev)
	h, ok := r.Accept(ev)
	if !ok {
		return
	}
	if h != nil {
		h.handle(ev)
	}
	if ev, fired := ev.(machine.Fired); fired {
		all := r.watches[ev.Path]
		delete(r.watches, ev.Path)
		for _, w := range all {
			w.fired()
		}
	}
}

// note records the latest server time and zxid.
func (r *requests) note(ev machine.Event) {
	var stats []machine.Stat
	switch ev := ev.(type) {
	case machine.Listed:
		stats = append(stats, ev.Stat)
	case machine.Seen:
		stats = append(stats, ev.Stat)
	case machine.Transacted:
		for _, result := range ev.Results {
			stats = append(stats, result.Stat)
		}
	}
	for _, s := range stats {
		r.zxid = max(r.zxid, s.Czxid, s.Mzxid, s.Pzxid)
		r.now = max(r.now, s.Ctime, s.Mtime)
	}
}
