package protocol

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// dispatcher has a machine's pending requests, each with the function that handles its reply, and
// the znodes that it follows. All of them end with the epoch, except timers.
type dispatcher struct {
	machine.Requests[*handler]
	session   int64
	followers map[string]*follower // by path
}

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

// transact carries a transaction out. If the parent of a new znode is missing, it creates the
// parent and tries again.
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

// ensure creates a container. It calls f when the container exists, or with ZooKeeper's refusal.
func (d *dispatcher) ensure(path string, f func(error)) {
	ask(d, machine.Ensure{Path: path, Container: true}, func(ev machine.Ensured) { f(ev.Err) })
}

// answer passes a reply or a watch event on. It ignores those of other epochs, and replies to
// requests that are not pending any more.
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

// follower follows one znode in one epoch, for all its subscriptions: it reads with a watch, and
// reads again when the watch fires. At most one read is in flight, so no reply is older than the
// one before.
type follower struct {
	zk            *dispatcher
	subscriptions []*subscription
	// What is followed, and how: given by the first subscription, and constant.
	path   string
	list   bool // follows the children; a read tells only that they may have changed
	create bool // creates the znode, as a container, if it does not exist
	once   bool // the read after a change sets no watch, since the first change is usually the last one that matters
	shared bool // a new subscription is told the last read at once; another read follows only if that has not found the znode
	// The reads.
	last    machine.Seen // the last one that was answered; without a Path: none was
	armed   bool         // a watch is set
	reading bool         // one is in flight
	again   bool         // read once more when that is answered
}

// subscription has the functions that are called for each read of a znode: refused if ZooKeeper has
// refused it, else seen.
type subscription struct {
	*follower
	refused func(error)
	seen    func(machine.Seen)
}

// follow subscribes to a znode. Unless it is shared, the next state is not older than this call.
func (d *dispatcher) follow(f follower, refused func(error), seen func(machine.Seen)) *subscription {
	joined := d.followers[f.path]
	switch {
	case joined == nil: // the first subscription
		joined = &f
		joined.zk = d
		d.followers[f.path] = joined
		joined.read(true)
	case !f.shared, joined.last.Path != "" && !joined.last.Exists: // the last read is too old, or has set no watch
		joined.read(true)
	case joined.last.Exists:
		seen(joined.last)
	} // else the first read is in flight, and tells all subscriptions
	s := &subscription{joined, refused, seen}
	joined.subscriptions = append(joined.subscriptions, s)
	return s
}

// readNow reads the znode: the next state told is not older than this call.
func (s *subscription) readNow() {
	if s != nil {
		s.read(true)
	}
}

// rearm reads the znode again if no watch is set.
func (s *subscription) rearm() {
	if !s.armed {
		s.readNow()
	}
}

func (f *follower) read(watch bool) {
	if f.zk.followers[f.path] != f { // its last subscription or its epoch has ended
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
	for _, s := range slices.Clone(f.subscriptions) {
		switch {
		case !slices.Contains(f.subscriptions, s): // another subscription's function has stopped this one
		case ev.Code == machine.Refused:
			s.refused(ev.Err)
		default:
			s.seen(ev)
		}
	}
}

// stop ends the subscription. Later replies are ignored.
func (s *subscription) stop() {
	if s == nil {
		return
	}
	s.subscriptions = slices.DeleteFunc(s.subscriptions, func(o *subscription) bool { return o == s })
	if len(s.subscriptions) == 0 && s.zk.followers[s.path] == s.follower {
		delete(s.zk.followers, s.path)
	}
}
