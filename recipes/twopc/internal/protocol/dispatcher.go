package protocol

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// dispatcher holds the pending requests and the watches of a machine. They belong to one epoch and end
// with it; pauses do not.
type dispatcher struct {
	machine.Requests[*handler]
	session   int64
	followers map[string]*follower // by path
}

// handler handles the reply to a request.
type handler struct{ handle func(machine.Event) }

func (d *dispatcher) begin(ev machine.EpochBegan) {
	d.end()
	d.Begin(ev.Epoch)
	d.session = ev.SessionID
}

func (d *dispatcher) end() {
	d.End()
	d.followers = map[string]*follower{}
}

func ask[E machine.Event](d *dispatcher, request machine.Request, f func(E)) *handler {
	h := &handler{func(ev machine.Event) { f(ev.(E)) }}
	d.Ask(request, h)
	return h
}

func (d *dispatcher) list(path string, f func(machine.Listed)) { ask(d, machine.List{Path: path}, f) }

// transact carries a transaction out, after it has created the missing parents of what it creates.
func (d *dispatcher) transact(f func(machine.Transacted), ops ...machine.Op) {
	ask(d, machine.Transact{Ops: ops}, func(ev machine.Transacted) {
		if ev.Code != machine.NoNode || ev.Failed < 0 || ops[ev.Failed].Do != machine.Create {
			f(ev)
			return
		}
		parent, _ := znode.Split(ops[ev.Failed].Path)
		d.ensure(parent, func(err error) {
			if err != nil {
				f(machine.Transacted{Code: machine.Refused, Err: err, Failed: -1})
				return
			}
			d.transact(f, ops...)
		})
	})
}

// ensure creates a container, and calls f when it exists, or with the refusal.
func (d *dispatcher) ensure(path string, f func(error)) {
	ask(d, machine.Ensure{Path: path, Container: true}, func(ev machine.Ensured) { f(ev.Err) })
}

// answer passes a reply or an event on. It ignores those of other epochs, and those that are no
// longer waited for.
func (d *dispatcher) answer(ev machine.Event) {
	h, ok := d.Accept(ev)
	if h != nil {
		h.handle(ev)
	}
	if ev, fired := ev.(machine.Fired); ok && fired {
		if f := d.followers[ev.Path]; f != nil {
			f.armed = false
			f.read(!f.once)
		}
	}
}

// follower follows one znode in one epoch, for all that depend on it: it reads with a watch, and
// reads again when the watch fires. At most one read is in flight, so no reply is older than the
// one before.
type follower struct {
	zk            *dispatcher
	path          string
	list          bool // its children are followed, of which a read tells only that they may have changed
	create        bool // a container is made of it if it does not exist
	once          bool // the first change is usually the last one that matters: the read after it sets no watch
	shared        bool // one that joins is told the last read at once, and content with it if it has found the znode
	subscriptions []*subscription
	last          machine.Seen // the last read
	armed         bool         // the last answered read has set a watch
	reading       bool
	again         bool // something has happened since the read in flight was requested
}

// subscription is one that depends on a znode. Its functions are called for each read; refused if
// ZooKeeper has refused it.
type subscription struct {
	*follower
	refused func(error)
	seen    func(machine.Seen)
}

// follow follows a znode. Unless it is shared, the next state is not older than this call.
func (d *dispatcher) follow(f follower, refused func(error), seen func(machine.Seen)) *subscription {
	joined := d.followers[f.path]
	switch {
	case joined == nil:
		joined = &f
		joined.zk = d
		d.followers[f.path] = joined
		joined.read(true)
	case !f.shared, joined.last.Path != "" && !joined.last.Exists:
		joined.read(true)
	case joined.last.Exists:
		seen(joined.last)
	}
	l := &subscription{joined, refused, seen}
	joined.subscriptions = append(joined.subscriptions, l)
	return l
}

// readNow reads now: the next state is not older than this call.
func (l *subscription) readNow() {
	if l != nil {
		l.read(true)
	}
}

// rearm ensures that the next change is noticed.
func (l *subscription) rearm() {
	if !l.armed {
		l.readNow()
	}
}

func (f *follower) read(watch bool) {
	if f.zk.followers[f.path] != f { // it is over, or its epoch
		return
	}
	if f.reading {
		f.again = true
		return
	}
	f.reading, f.again = true, false
	answer := func(ev machine.Seen) {
		f.reading, f.last = false, ev
		f.armed = f.armed || watch && ev.Exists
		switch {
		case f.again:
			f.read(true)
		case f.create && !ev.Exists && ev.Code != machine.Refused:
			f.zk.ensure(f.path, func(err error) {
				if err != nil {
					f.tell(machine.Seen{Code: machine.Refused, Err: err})
					return
				}
				f.read(true)
			})
		default:
			f.tell(ev)
		}
	}
	if !f.list {
		ask(f.zk, machine.Read{Path: f.path, Watch: watch}, answer)
		return
	}
	ask(f.zk, machine.List{Path: f.path, Watch: watch}, func(ev machine.Listed) {
		answer(machine.Seen{Exists: ev.Code == machine.Done, Code: ev.Code, Err: ev.Err})
	})
}

func (f *follower) tell(ev machine.Seen) {
	for _, l := range slices.Clone(f.subscriptions) {
		switch {
		case !slices.Contains(f.subscriptions, l): // it has stopped meanwhile
		case ev.Code == machine.Refused:
			l.refused(ev.Err)
		default:
			l.seen(ev)
		}
	}
}

// stop ends it. Later replies are ignored.
func (l *subscription) stop() {
	if l == nil {
		return
	}
	l.subscriptions = slices.DeleteFunc(l.subscriptions, func(o *subscription) bool { return o == l })
	if len(l.subscriptions) == 0 && l.zk.followers[l.path] == l.follower {
		delete(l.zk.followers, l.path)
	}
}
