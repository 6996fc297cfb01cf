package session

import (
	"errors"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/watches"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// watchRead is a read with a watch, on its way through the table of watches.
type watchRead struct {
	seat   *Seat
	epoch  *epoch
	key    watches.Key
	read   func(c *zkconn.Conn, watch bool) (answer func(), err error)
	refuse func(err error)
	birth  bool // a missing znode is watched too

	at   passage // over which it was lost
	lost losses
}

// Pending implements [watches.Request].
func (r *watchRead) Pending() bool {
	s := r.seat.session
	s.mu.Lock()
	defer s.mu.Unlock()
	_, open := r.epoch.reads[r]
	return open
}

// answered answers the read, unless the end of its epoch has.
func (r *watchRead) answered(answer func()) {
	s := r.seat.session
	s.mu.Lock()
	_, open := r.epoch.reads[r]
	delete(r.epoch.reads, r)
	s.mu.Unlock()
	if open {
		answer()
	}
}

// Send implements [watches.Request].
func (r *watchRead) Send(of *watches.Read, watch bool) {
	s := r.seat.session
	if !s.tasks.run(func() {
		for try := 1; r.send(of, watch); try++ {
			s.pause(s.life, backoff(try))
			r.at = passage{}
		}
	}) {
		r.answered(func() { r.refuse(ErrClosed) })
	}
}

// send sends the read and tells the actor what came of it. True: an overloaded server has not
// carried it out, so that it is to be sent again.
func (r *watchRead) send(of *watches.Read, watch bool) (again bool) {
	s := r.seat.session
	at, err := s.pass(s.life, r.epoch, r.at)
	if err != nil {
		r.answered(func() { r.refuse(s.unlessClosed(err)) })
		return false
	}
	if r.leaving() {
		s.ref.Tell(readDone{request: r, read: of, answer: func() { r.refuse(ErrReleased) }})
		return false
	}
	s.pauseAfterLoss(s.life, r.lost.times)
	answer, err := r.attempt(watch)
	switch {
	case errors.Is(err, zkconn.ErrThrottled):
		return true
	case err != nil && !definite(err):
		r.at = at.lost(err)
		s.ref.Tell(readDone{request: r, read: of})
	default:
		s.ref.Tell(readDone{request: r, read: of, answer: answer, armed: err == nil || r.birth && errors.Is(err, ErrNoNode)})
	}
	return false
}

// attempt reads, unless that was lost too often.
func (r *watchRead) attempt(watch bool) (answer func(), err error) {
	c := r.epoch.conn
	if err := r.lost.verdict(c); err != nil {
		return func() { r.refuse(err) }, err
	}
	answer, err = r.read(r.lost.on(c), watch)
	return answer, r.lost.noted(err)
}

// leaving: what is to be read is the seat's own contender, and the seat is removing it. What it
// says, and when it goes, is of no interest any more. Another's znode at the same path, where names
// come again, would be.
func (r *watchRead) leaving() bool {
	s := r.seat.session
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.ledger.byPath[s.relative(r.key.Path)]
	return c != nil && c.seat == r.seat && c.leaving && !c.born && c.form != znode.Alone && r.key.Kind == watches.Data
}

// onAsked takes a read with a watch.
func (w *steward) onAsked(r *watchRead) {
	if r.epoch != w.epoch {
		r.answered(func() { r.refuse(ErrExpired) })
		return
	}
	w.table.Ask(&watches.Read{Client: &r.seat.inbox, Key: r.key, Request: r})
}

// onReadDone takes the answer to a read with a watch, or its loss.
func (w *steward) onReadDone(m readDone) {
	r := m.request
	if r.epoch != w.epoch {
		r.answered(func() { r.refuse(ErrExpired) })
		return
	}
	var answer func()
	if m.answer != nil {
		answer = func() { r.answered(m.answer) }
	}
	w.table.Done(m.read, answer, m.armed)
}

// onFired tells everyone who asked for it of an event.
func (w *steward) onFired(ev zkconn.Fired) {
	if ev.Type == NodeDeleted {
		w.missing(w.relative(ev.Path))
	}
	w.table.Fire(watches.Event{Path: ev.Path, Type: watches.EventType(ev.Type)})
}

// Unwatch says that the seat depends no more on what a read of this znode with a watch has armed,
// or is about to: no [Fired] of its data comes of reads before this. If nobody else in the session
// depends on that watch, ZooKeeper is told to forget it. A watch of its children is not touched.
func (t *Seat) Unwatch(number uint64, path string) {
	t.session.ref.Tell(forgone{t, number, watches.Key{Path: t.session.Path(path), Kind: watches.Data}})
}

// onForgone takes back what a seat depends on at one path.
func (w *steward) onForgone(m forgone) {
	if w.epoch != nil && w.epoch.number == m.epoch {
		w.table.Forget(&m.seat.inbox, m.key)
	}
}

// Remove implements [watches.Server].
func (w *steward) Remove(keys []watches.Key) {
	s, e := w.Session, w.epoch
	s.mu.Lock()
	conn, ups, closing := e.conn, e.ups, s.closing
	s.mu.Unlock()
	if closing {
		return // they go with the ZooKeeper session
	}
	all := make([]zkconn.Watch, len(keys))
	for i, key := range keys {
		all[i] = onWire(key)
	}
	s.tasks.run(func() { // false: the session has ended, and its watches with it
		s.ref.Tell(unwatched{e, keys, ups, conn.Unwatch(all)})
	})
}

// onUnwatched takes what became of a removal.
func (w *steward) onUnwatched(m unwatched) {
	outcome := watches.Gone
	switch {
	case errors.Is(m.err, zkconn.ErrNotSent):
		outcome = watches.NotSent
	case errors.Is(m.err, ErrUnsupported):
		outcome = watches.Unsupported
	}
	w.mu.Lock()
	newer := w.up && w.epoch.ups > m.ups
	w.mu.Unlock()
	w.table.Removed(m.keys, outcome, newer)
}

// Watched implements [watches.Server].
func (w *steward) Watched(key watches.Key) bool { return w.epoch.conn.Watches(onWire(key)) }

func onWire(k watches.Key) zkconn.Watch {
	return zkconn.Watch{Path: k.Path, Children: k.Kind == watches.Children}
}
