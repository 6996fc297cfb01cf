package session

import (
	"errors"
	"sync"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session/internal/watches"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// epochWatches is the table of an epoch's watches, and the outbox of events and answers for its
// clients, in order. It has a mutex of its own, so that an event goes from the connection's
// goroutine straight to the clients that depend on it. No client is called under that mutex: what
// the table says goes into the outbox, which the first caller to come empties. The session's mutex
// may be taken under it, not the other way around.
type epochWatches struct {
	epoch *epoch

	mu       sync.Mutex
	table    *watches.Table
	reads    map[*watchRead]struct{} // with a watch, that were not answered yet; nil: the epoch is over
	outbox   []outgoing
	emptying bool // a caller is emptying the outbox

	// Answers and events of a connection are not passed on before the clients know of the
	// connection: the session's actor tells them.
	heard int    // counts changes of the connection, and the beginning of the epoch
	told  int    // how many of these the clients were told of
	up    bool   // as they were told
	ups   uint64 // counts the connections that there have been
}

// outgoing is an answer or an event on its way to a client.
type outgoing struct {
	behind int           // it is passed on when so many changes of the connection were told
	read   *watchRead    // of an answer
	answer func()        // passes it on
	to     *client       // of an event; nil: it is an answer
	event  watches.Event // of to
}

func newEpochWatches(e *epoch) *epochWatches {
	w := &epochWatches{epoch: e, reads: make(map[*watchRead]struct{}), heard: 1}
	w.table = watches.New(w)
	return w
}

// change changes the table, unless the epoch is over, and passes on what follows. A panic in either
// ends the epoch.
func (w *epochWatches) change(do func(t *watches.Table)) {
	defer w.epoch.session.tasks.catch()
	if !w.step(do) {
		return
	}
	for out, some := w.next(); some; out, some = w.next() {
		if out.to != nil {
			path := w.epoch.session.space.relative(out.event.Path)
			out.to.fired(machine.Fired{Epoch: w.epoch.number, Path: path, Change: changes[out.event.Type]})
		} else {
			w.answer(out.read, out.answer)
		}
	}
}

// step is the part of change under the mutex. True: the caller has to empty the outbox.
func (w *epochWatches) step(do func(t *watches.Table)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads == nil {
		return false
	}
	do(w.table)
	if w.emptying || len(w.outbox) == 0 {
		return false
	}
	w.emptying = true
	return true
}

// next takes the next thing to pass on out of the outbox. False: there is none for now.
func (w *epochWatches) next() (out outgoing, some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.outbox) == 0 || w.outbox[0].behind > w.told {
		w.emptying = false
		return outgoing{}, false
	}
	out = w.outbox[0]
	w.outbox = w.outbox[1:]
	if len(w.outbox) == 0 {
		w.outbox = nil // which frees its memory
	}
	return out, true
}

// answer answers a read, unless that was done, by the end of the epoch perhaps.
func (w *epochWatches) answer(r *watchRead, answer func()) {
	w.mu.Lock()
	_, open := w.reads[r]
	delete(w.reads, r)
	w.mu.Unlock()
	if open {
		answer()
	}
}

// ask takes a read with a watch; false if the epoch is over.
func (w *epochWatches) ask(r *watchRead) (taken bool) {
	w.change(func(t *watches.Table) {
		taken = true
		w.reads[r] = struct{}{}
		t.Ask(&watches.Read{Client: r.client, Key: r.key, Request: r})
	})
	return taken
}

// done takes what came of a try of a read: answer passes it on, and is nil if the answer was lost.
// armed: there is something to watch.
func (w *epochWatches) done(r *watchRead, try *watches.Read, answer func(), armed bool) {
	w.change(func(t *watches.Table) {
		pass := func() { w.outbox = append(w.outbox, outgoing{behind: w.heard, read: r, answer: answer}) }
		if answer == nil {
			pass = nil
		}
		t.Done(try, pass, armed)
	})
}

func (w *epochWatches) fire(ev zkconn.Fired) {
	w.change(func(t *watches.Table) {
		if s := w.epoch.session; ev.Type == jute.NodeDeleted {
			s.znodes.missing(s.space.relative(ev.Path))
		}
		t.Fire(watches.Event{Path: ev.Path, Type: watches.EventType(ev.Type)})
	})
}

// connHears records that the connection has changed, before clients are told so.
func (w *epochWatches) connHears(up bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard++
	if up {
		w.ups++
	}
}

// clientsKnow records that clients were told of a change of the connection, or of the beginning of
// the epoch. Removals of watches that had to wait for a connection are sent now.
func (w *epochWatches) clientsKnow(up bool) {
	w.change(func(t *watches.Table) {
		w.told++
		w.up = up
		if up {
			t.GiveBack()
		}
	})
}

// end is the end of the epoch; the reads that are returned have no answer.
func (w *epochWatches) end() map[*watchRead]struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	reads := w.reads
	w.reads, w.outbox = nil, nil
	return reads
}

// Tell implements [watches.Server].
func (w *epochWatches) Tell(c watches.Client, e watches.Event) {
	w.outbox = append(w.outbox, outgoing{behind: w.heard, to: c.(*client), event: e}) //nolint:forcetypeassert // the table has no others
}

// Watched implements [watches.Server].
func (w *epochWatches) Watched(key watches.Key) bool { return w.epoch.conn.Watches(onWire(key)) }

// Remove implements [watches.Server].
func (w *epochWatches) Remove(keys []watches.Key) {
	s, conn, ups := w.epoch.session, w.epoch.conn, w.ups
	if s.sender.open() != nil {
		return // they go with the ZooKeeper session
	}
	all := make([]zkconn.Watch, len(keys))
	for i, key := range keys {
		all[i] = onWire(key)
	}
	s.tasks.run(func() { // false: the session has ended, and its watches with it
		outcome := watches.Gone
		switch err := conn.Unwatch(all); {
		case errors.Is(err, zkconn.ErrNotSent):
			outcome = watches.NotSent
		case errors.Is(err, ErrUnsupported):
			outcome = watches.Unsupported
		}
		w.change(func(t *watches.Table) { t.Removed(keys, outcome, w.up && w.ups > ups) })
	})
}

func onWire(k watches.Key) zkconn.Watch {
	return zkconn.Watch{Path: k.Path, Children: k.Kind == watches.Children}
}

// watchRead is a read with a watch, on its way through the table of watches.
type watchRead struct {
	client *client
	epoch  *epoch
	key    watches.Key
	read   func(c *zkconn.Conn, watch bool) (answer func(), err error)
	refuse func(err error)
	birth  bool // a missing znode is watched too

	at   connRef // over which it was lost
	lost losses
}

// Pending implements [watches.Request].
func (r *watchRead) Pending() bool {
	_, open := r.epoch.watched.reads[r]
	return open
}

// Send implements [watches.Request].
func (r *watchRead) Send(of *watches.Read, watch bool) {
	s := r.client.session
	s.tasks.run(func() { // false: the session has ended, and the epoch before it, which refuses the read
		for try := 1; r.send(of, watch); try++ {
			s.sender.pause(s.tasks.life, backoff(s.sender.tasks.source, try))
			r.at = connRef{}
		}
	})
}

// send sends the read and tells the table what came of it. True: an overloaded server has not
// carried it out, so that it is to be sent again.
func (r *watchRead) send(of *watches.Read, watch bool) (again bool) {
	s := r.client.session
	at, err := s.sender.conn(s.tasks.life, r.epoch, r.at)
	if err != nil {
		r.epoch.watched.answer(r, func() { r.refuse(s.sender.unlessClosed(err)) })
		return false
	}
	s.sender.pauseAfterLoss(s.tasks.life, r.lost.times)
	answer, err := r.attempt(watch)
	switch {
	case errors.Is(err, zkconn.ErrThrottled):
		return true
	case err != nil && !definite(err):
		r.at = at.lost(err)
		r.epoch.watched.done(r, of, nil, false)
	default:
		r.epoch.watched.done(r, of, answer, err == nil || r.birth && errors.Is(err, ErrNoNode))
	}
	return false
}

// attempt reads, unless that was lost too often.
func (r *watchRead) attempt(watch bool) (answer func(), err error) {
	c := r.epoch.conn
	if err := r.lost.verdict(c); err != nil {
		return func() { r.refuse(err) }, err
	}
	return once(&r.lost, c, func(c *zkconn.Conn) (func(), error) { return r.read(c, watch) })
}
