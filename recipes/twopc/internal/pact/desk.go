package pact

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// desk keeps the pending requests, and the callbacks of watches. They belong to one epoch and end
// with it.
type desk struct {
	epoch   uint64 // 0: none
	session int64
	last    uint64 // number of the last request; numbers are never reused
	zxid    int64  // the latest zxid in any reply, over all epochs
	now     int64  // the latest server time in any reply, in milliseconds
	asked   map[uint64]func(machine.Event)
	armed   map[string][]watcher
	pauses  map[uint64]func() // survive epochs
	effects []machine.Effect
}

func newDesk() *desk {
	return &desk{asked: map[uint64]func(machine.Event){}, armed: map[string][]watcher{}, pauses: map[uint64]func(){}}
}

func (d *desk) do(e machine.Effect) { d.effects = append(d.effects, e) }

// flush returns the pending effects.
func (d *desk) flush() []machine.Effect {
	out := d.effects
	d.effects = nil
	return out
}

func (d *desk) begin(ev machine.EpochBegan) {
	d.end()
	d.epoch, d.session = ev.Epoch, ev.SessionID
}

func (d *desk) end() {
	d.epoch, d.session = 0, 0
	clear(d.asked)
	clear(d.armed)
}

func (d *desk) ask(f func(machine.Event)) uint64 {
	d.last++
	d.asked[d.last] = f
	return d.last
}

// watcher is called when the watch on a path fires. A path may have two: of an old transaction and
// of a new one with the same id.
type watcher struct {
	who   any
	fired func()
}

func (d *desk) arm(path string, w watcher) {
	for _, o := range d.armed[path] {
		if o.who == w.who {
			return
		}
	}
	d.armed[path] = append(d.armed[path], w)
}

// disarm removes a watcher.
func (d *desk) disarm(path string, who any) {
	rest := slices.DeleteFunc(d.armed[path], func(w watcher) bool { return w.who == who })
	if len(rest) == 0 {
		delete(d.armed, path)
		return
	}
	d.armed[path] = rest
}

// read reads a znode, with a watch if there is a watcher.
func (d *desk) read(path string, w watcher, f func(machine.Seen)) {
	n := d.ask(func(ev machine.Event) { f(ev.(machine.Seen)) })
	if w.who != nil {
		d.arm(path, w)
	}
	d.do(machine.Read{Epoch: d.epoch, Ask: n, Path: path, Watch: w.who != nil})
}

// list lists a znode's children, with a watch. A path is listed with a watch for one purpose only.
func (d *desk) list(path string, fired func(), f func(machine.Listed)) {
	d.arm(path, watcher{d, fired})
	n := d.ask(func(ev machine.Event) { f(ev.(machine.Listed)) })
	d.do(machine.List{Epoch: d.epoch, Ask: n, Path: path, Watch: true})
}

// names lists a znode's children without a watch.
func (d *desk) names(path string, f func(machine.Listed)) {
	n := d.ask(func(ev machine.Event) { f(ev.(machine.Listed)) })
	d.do(machine.List{Epoch: d.epoch, Ask: n, Path: path})
}

func (d *desk) transact(f func(machine.Transacted), ops ...machine.Op) {
	n := d.ask(func(ev machine.Event) { f(ev.(machine.Transacted)) })
	d.do(machine.Transact{Epoch: d.epoch, Ask: n, Ops: ops})
}

func (d *desk) remove(path string, f func()) {
	n := d.ask(func(machine.Event) { f() })
	d.do(machine.Remove{Epoch: d.epoch, Ask: n, Path: path})
}

// ensure creates containers, one per path, and calls f when the last one exists, with the first
// definite error.
func (d *desk) ensure(f func(error), paths ...string) {
	left, failed := len(paths), error(nil)
	for _, path := range paths {
		n := d.ask(func(ev machine.Event) {
			e := ev.(machine.Ensured)
			if e.Code == machine.Refused && failed == nil {
				failed = e.Err
			}
			if left--; left == 0 {
				f(failed)
			}
		})
		d.do(machine.Ensure{Epoch: d.epoch, Ask: n, Path: path, Container: true})
	}
}

// pause calls f after a number of milliseconds, in any epoch. The returned function cancels it.
func (d *desk) pause(ms int64, f func()) (cancel func()) { return d.wake(machine.Wake{After: ms}, f) }

// retry calls f after the pause for the try-th attempt. The returned function cancels it.
func (d *desk) retry(try int, f func()) (cancel func()) { return d.wake(machine.Wake{Try: try}, f) }

func (d *desk) wake(after machine.Wake, f func()) (cancel func()) {
	d.last++
	n := d.last
	d.pauses[n] = f
	after.Ask = n
	d.do(after)
	return func() {
		if _, waiting := d.pauses[n]; waiting {
			delete(d.pauses, n)
			d.do(machine.Cancel{Ask: n})
		}
	}
}

// answer passes a reply or an event on. It ignores those of other epochs, and those that are no
// longer waited for.
func (d *desk) answer(ev machine.Event) {
	switch ev := ev.(type) {
	case machine.Listed:
		d.note(ev.Stat)
		d.reply(ev.Epoch, ev.Ask, ev)
	case machine.Seen:
		d.note(ev.Stat)
		d.reply(ev.Epoch, ev.Ask, ev)
	case machine.Transacted:
		for _, r := range ev.Results {
			d.note(r.Stat)
		}
		d.reply(ev.Epoch, ev.Ask, ev)
	case machine.Ensured:
		d.reply(ev.Epoch, ev.Ask, ev)
	case machine.Removed:
		d.reply(ev.Epoch, ev.Ask, ev)
	case machine.Fired:
		if ev.Epoch != d.epoch {
			return
		}
		all := d.armed[ev.Path]
		delete(d.armed, ev.Path)
		for _, w := range all {
			w.fired()
		}
	case machine.Woke:
		if f := d.pauses[ev.Ask]; f != nil {
			delete(d.pauses, ev.Ask)
			f()
		}
	}
}

// note records the latest server time and zxid.
func (d *desk) note(s machine.Stat) {
	d.zxid = max(d.zxid, s.Czxid, s.Mzxid, s.Pzxid)
	d.now = max(d.now, s.Ctime, s.Mtime)
}

func (d *desk) reply(epoch, ask uint64, ev machine.Event) {
	if f := d.asked[ask]; f != nil && epoch == d.epoch {
		delete(d.asked, ask)
		f(ev)
	}
}
