package protocol

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// requests are the pending requests and the watches of a machine. They belong to one epoch and end
// with it; pauses do not.
type requests struct {
	machine.Requests[*handler]
	session   int64
	followers map[string]*follower // by path
}

// handler handles the reply to a request.
type handler struct{ handle func(machine.Event) }

func (r *requests) begin(ev machine.EpochBegan) {
	r.end()
	r.Begin(ev.Epoch)
	r.session = ev.SessionID
}

func (r *requests) end() {
	r.End()
	r.followers = map[string]*follower{}
}

func ask[E machine.Event](r *requests, request machine.Request, f func(E)) *handler {
	h := &handler{func(ev machine.Event) { f(ev.(E)) }}
	r.Ask(request, h)
	return h
}

func (r *requests) list(path string, f func(machine.Listed)) { ask(r, machine.List{Path: path}, f) }

// transact carries a transaction out, after it has created the missing parents of what it creates.
func (r *requests) transact(f func(machine.Transacted), ops ...machine.Op) {
	ask(r, machine.Transact{Ops: ops}, func(ev machine.Transacted) {
		if ev.Code != machine.NoNode || ev.Failed < 0 || ops[ev.Failed].Do != machine.Create {
			f(ev)
			return
		}
		parent, _ := znode.Split(ops[ev.Failed].Path)
		r.ensure(parent, func(err error) {
			if err != nil {
				f(machine.Transacted{Code: machine.Refused, Err: err, Failed: -1})
				return
			}
			r.transact(f, ops...)
		})
	})
}

// ensure creates a container, and calls f when it exists, or with the refusal.
func (r *requests) ensure(path string, f func(error)) {
	ask(r, machine.Ensure{Path: path, Container: true}, func(ev machine.Ensured) { f(ev.Err) })
}

// answer passes a reply or an event on. It ignores those of other epochs, and those that are no
// longer waited for.
func (r *requests) answer(ev machine.Event) {
	h, ok := r.Accept(ev)
	if h != nil {
		h.handle(ev)
	}
	if ev, fired := ev.(machine.Fired); ok && fired {
		if f := r.followers[ev.Path]; f != nil {
			f.armed = false
			f.read(!f.once)
		}
	}
}

// follower follows one znode in one epoch, for all that depend on it: it reads with a watch, and
// reads again when the watch fires. At most one read is in flight, so no reply is older than the
// one before.
type follower struct {
	requests *requests
	path     string
	list     bool // its children are followed, of which a read tells only that they may have changed
	made     bool // a container is made of it if it does not exist
	once     bool // the first change is usually the last one that matters: the read after it sets no watch
	shared   bool // one that joins is told the last read at once, and content with it if it has found the znode
	followed []*following
	last     machine.Seen // the last read
	armed    bool         // the last answered read has set a watch
	reading  bool
	again    bool // something has happened since the read in flight was requested
}

// following is one that depends on a znode. Its functions are called for each read; refused if
// ZooKeeper has refused it.
type following struct {
	*follower
	refused func(error)
	seen    func(machine.Seen)
}

// follow follows a znode. Unless it is shared, the next state is not older than this call.
func (r *requests) follow(f follower, refused func(error), seen func(machine.Seen)) *following {
	joined := r.followers[f.path]
	switch {
	case joined == nil:
		joined = &f
		joined.requests = r
		r.followers[f.path] = joined
		joined.read(true)
	case !f.shared, joined.last.Path != "" && !joined.last.Exists:
		joined.read(true)
	case joined.last.Exists:
		seen(joined.last)
	}
	l := &following{joined, refused, seen}
	joined.followed = append(joined.followed, l)
	return l
}

// readNow reads now: the next state is not older than this call.
func (l *following) readNow() {
	if l != nil {
		l.read(true)
	}
}

// rearm ensures that the next change is noticed.
func (l *following) rearm() {
	if !l.armed {
		l.readNow()
	}
}

func (f *follower) read(watch bool) {
	if f.requests.followers[f.path] != f { // it is over, or its epoch
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
		case f.made && !ev.Exists && ev.Code != machine.Refused:
			f.requests.ensure(f.path, func(err error) {
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
		ask(f.requests, machine.Read{Path: f.path, Watch: watch}, answer)
		return
	}
	ask(f.requests, machine.List{Path: f.path, Watch: watch}, func(ev machine.Listed) {
		answer(machine.Seen{Exists: ev.Code == machine.Done, Code: ev.Code, Err: ev.Err})
	})
}

func (f *follower) tell(ev machine.Seen) {
	for _, l := range slices.Clone(f.followed) {
		switch {
		case !slices.Contains(f.followed, l): // it has stopped meanwhile
		case ev.Code == machine.Refused:
			l.refused(ev.Err)
		default:
			l.seen(ev)
		}
	}
}

// stop ends it. Later replies are ignored.
func (l *following) stop() {
	if l == nil {
		return
	}
	l.followed = slices.DeleteFunc(l.followed, func(o *following) bool { return o == l })
	if len(l.followed) == 0 && l.requests.followers[l.path] == l.follower {
		delete(l.requests.followers, l.path)
	}
}
