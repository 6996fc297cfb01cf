package session

import (
	"errors"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/link"
)

// onAsked takes a read with a watch.
func (w *steward) onAsked(a *ask) {
	if a.epoch != w.epoch {
		w.answered(a, func() { a.refuse(ErrExpired) })
		return
	}
	n := w.table.entries[a.key]
	switch {
	case a.forgone || a.seat.left():
		w.send(a, false) // it has its answer, and no event
	case n == nil:
		n = &watchEntry{arming: a}
		w.table.entries[a.key] = n
		w.send(a, true)
	case n.arming != nil || n.need == removing:
		n.waiting = append(n.waiting, a)
	default:
		n.need = needed
		w.table.subscribe(n, a)
		w.send(a, false)
	}
}

// request sends the read, once. Whether the answer to one without a watch is followed by the event
// is decided by the entry that it found: it was there before the read was sent.
func (w *steward) request(a *ask, watch bool) {
	s := w.Session
	if !s.tasks.run(func() {
		for try := 1; s.requested(a, watch); try++ {
			s.pause(s.life, backoff(try))
			a.at = passage{}
		}
	}) {
		s.answered(a, func() { a.refuse(ErrClosed) })
	}
}

// requested sends the read and tells the actor what came of it. True: an overloaded server has not
// carried it out, so that it is to be sent again.
func (s *Session) requested(a *ask, watch bool) (again bool) {
	at, err := s.pass(s.life, a.epoch, a.at)
	if err != nil {
		s.answered(a, func() { a.refuse(s.unlessClosed(err)) })
		return false
	}
	if s.departs(a) {
		s.ref.Tell(heard{ask: a, answer: func() { a.refuse(ErrReleased) }})
		return false
	}
	s.pauseAfterLoss(s.life, a.lost.times)
	answer, err := a.attempt(watch)
	switch {
	case errors.Is(err, link.ErrThrottled):
		return true
	case err != nil && !definite(err):
		a.at = at.lost(err)
		s.ref.Tell(heard{ask: a})
	default:
		s.ref.Tell(heard{ask: a, answer: answer, armed: err == nil || a.birth && errors.Is(err, ErrNoNode)})
	}
	return false
}

// attempt reads, unless that was lost too often.
func (a *ask) attempt(watch bool) (answer func(), err error) {
	c := a.epoch.conn
	if err := a.lost.verdict(c); err != nil {
		return func() { a.refuse(err) }, err
	}
	answer, err = a.read(a.lost.on(c), watch)
	return answer, a.lost.noted(err)
}

// departs: what is to be read is the seat's own contender, and the seat is removing it. What it
// says, and when it goes, is of no interest any more. Another's znode at the same path, where names
// come again, would be.
func (s *Session) departs(a *ask) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.ledger.byPath[s.relative(a.key.path)]
	return c != nil && c.seat == a.seat && c.leaving && !c.born && c.form != znode.Alone && a.key.kind == watchData
}

// onHeard takes the answer, or its loss.
func (w *steward) onHeard(m heard) {
	a := m.ask
	if a.epoch != w.epoch {
		w.answered(a, func() { a.refuse(ErrExpired) })
		return
	}
	n := w.table.entries[a.key]
	arming := n != nil && n.arming == a
	var waiting []*ask
	switch {
	case arming && m.armed && !n.fired:
		n.arming, waiting, n.waiting = nil, n.waiting, nil
		w.table.subscribe(n, a)
	case arming && m.armed && w.stands(a.key): // what fired was an older watch of the znode's other kind, and a was told of it
		n.arming, n.fired, waiting, n.waiting = nil, false, n.waiting, nil
	case arming:
		waiting = n.waiting
		delete(w.table.entries, a.key)
	case n != nil && !m.armed:
		w.table.unsubscribe(n, a)
	}
	switch {
	case m.answer == nil:
		a.void = true
		again := *a // what was held back for the lost answer is not for the next
		again.void = false
		w.again(a, &again)
	case m.armed:
		w.answered(a, m.answer)
		a.answered, a.read, a.refuse = true, nil, nil // from here on it only says whom to tell
	default:
		w.answered(a, m.answer)
		a.void = true // there is nothing to watch, so nothing to tell
	}
	w.table.release(a.seat)
	for _, o := range waiting {
		w.onAsked(o)
	}
	w.spare(a.key)
}

// again asks once more in the place of an ask whose answer was lost.
func (w *steward) again(old, a *ask) {
	w.mu.Lock()
	_, open := old.epoch.asks[old]
	if open {
		delete(old.epoch.asks, old)
		a.epoch.asks[a] = struct{}{}
	}
	w.mu.Unlock()
	if open {
		w.onAsked(a)
	}
}

// onFired tells everyone who asked for it of an event.
func (w *steward) onFired(ev link.Fired) {
	path := w.relative(ev.Path)
	if ev.Type == NodeDeleted {
		w.missing(path)
	}
	var seats []*Seat
	asks := make(map[*Seat][]*ask)
	for _, key := range firedKeys(ev) {
		for _, a := range w.table.fire(key) {
			if asks[a.seat] == nil {
				seats = append(seats, a.seat)
			}
			asks[a.seat] = append(asks[a.seat], a)
		}
	}
	for _, t := range seats {
		w.table.pass(t, Fired{Epoch: w.epoch.number, Path: path, Type: ev.Type}, asks[t])
	}
}
