package pact

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// desk keeps what was asked and is not answered yet, and who wants to know when a watch fires. What
// is on it belongs to one epoch and goes with it.
type desk struct {
	epoch   uint64 // 0: there is none
	session int64
	last    uint64 // number of the last question; never used again
	zxid    int64  // the latest transaction of ZooKeeper's that an answer has told of, in whatever epoch
	now     int64  // the latest time of the servers' clocks that an answer has told of, in milliseconds
	asked   map[uint64]func(machine.Event)
	armed   map[string][]watcher
	pauses  map[uint64]func() // outlive epochs
	effects []machine.Effect
}

func newDesk() *desk {
	return &desk{asked: map[uint64]func(machine.Event){}, armed: map[string][]watcher{}, pauses: map[uint64]func(){}}
}

func (d *desk) do(e machine.Effect) { d.effects = append(d.effects, e) }

// flush hands over what there is to do.
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

// watcher is somebody who wants to know when the watch on a path fires. Two may follow the same
// path: of an old transaction and of a new one of the same id.
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

// disarm: somebody does not want to know any more.
func (d *desk) disarm(path string, who any) {
	rest := slices.DeleteFunc(d.armed[path], func(w watcher) bool { return w.who == who })
	if len(rest) == 0 {
		delete(d.armed, path)
		return
	}
	d.armed[path] = rest
}

// read reads a znode, with a watch if somebody wants to know when it fires.
func (d *desk) read(path string, w watcher, f func(machine.Seen)) {
	n := d.ask(func(ev machine.Event) { f(ev.(machine.Seen)) })
	if w.who != nil {
		d.arm(path, w)
	}
	d.do(machine.Read{Epoch: d.epoch, Ask: n, Path: path, Watch: w.who != nil})
}

// list reads a znode's children, with a watch. A path is listed for one purpose only.
func (d *desk) list(path string, fired func(), f func(machine.Listed)) {
	d.arm(path, watcher{d, fired})
	n := d.ask(func(ev machine.Event) { f(ev.(machine.Listed)) })
	d.do(machine.List{Epoch: d.epoch, Ask: n, Path: path, Watch: true})
}

// names reads a znode's children, without a watch.
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

// ensure makes containers, one for each path, and calls f when the last is there, with the first
// error that is definite.
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

// pause calls f after so many milliseconds, in whatever epoch. The function that it returns takes
// that back.
func (d *desk) pause(ms int64, f func()) (cancel func()) { return d.wake(machine.Wake{After: ms}, f) }

// retry calls f after the try-th pause in a row, the same way.
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

// answer passes an answer or a notice on. What nobody waits for any more, and what is of another
// epoch, is void.
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

// note keeps the latest of what an answer tells about the servers' time and order.
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

// follower keeps up with one znode: a read with a watch, and another whenever that fires. At most
// one is under way, so that no answer is older than the one before.
type follower struct {
	desk    *desk
	path    string
	seen    func(machine.Seen)
	once    bool // what is seen after a change is mostly the last that matters: it is read without a watch
	armed   bool // the read that was answered last left a watch
	reading bool
	again   bool // something happened since the read under way was asked
	over    bool
}

func (d *desk) follow(path string, seen func(machine.Seen)) *follower {
	f := &follower{desk: d, path: path, seen: seen}
	f.look()
	return f
}

// await is follow for a znode that changes once. If what is seen does not settle it, rearm.
func (d *desk) await(path string, seen func(machine.Seen)) *follower {
	f := &follower{desk: d, path: path, seen: seen, once: true}
	f.look()
	return f
}

// look reads now: what is seen next is not older than this.
func (f *follower) look() {
	if f != nil {
		f.read(true)
	}
}

func (f *follower) fired() {
	f.armed = false
	f.read(!f.once)
}

// rearm sees to it that the next change is seen.
func (f *follower) rearm() {
	if !f.armed {
		f.look()
	}
}

func (f *follower) read(watch bool) {
	if f.over || f.desk.epoch == 0 {
		return
	}
	if f.reading {
		f.again = true
		return
	}
	f.reading, f.again = true, false
	var w watcher
	if watch {
		w = watcher{f, f.fired}
	}
	f.desk.read(f.path, w, func(ev machine.Seen) {
		f.reading, f.armed = false, watch && ev.Exists
		if watch && !ev.Exists {
			f.desk.disarm(f.path, f)
		}
		switch {
		case f.over:
		case f.again:
			f.look()
		default:
			f.seen(ev)
		}
	})
}

// stop ends it; what comes yet is for nobody.
func (f *follower) stop() {
	if f != nil {
		f.over = true
		f.desk.disarm(f.path, f)
	}
}
