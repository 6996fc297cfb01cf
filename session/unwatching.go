package session

import (
	"errors"

	"github.com/troupe-go/troupe/session/internal/link"
)

// Unwatch says that the seat depends no more on what a read of this znode with a watch has armed,
// or is about to: no [Fired] of its data comes of reads before this. If nobody else in the session
// depends on that watch, ZooKeeper is told to forget it. A watch of its children is not touched.
func (t *Seat) Unwatch(number uint64, path string) {
	t.session.ref.Tell(forgone{t, number, watchKey{t.session.Path(path), watchData}})
}

// onForgone takes back what a seat depends on at one path.
func (w *steward) onForgone(m forgone) {
	if w.epoch == nil || w.epoch.number != m.epoch {
		return
	}
	n := w.table.entries[m.key]
	if n == nil {
		return
	}
	if n.arming != nil && n.arming.seat == m.seat {
		n.arming.forgone = true
	}
	for _, a := range n.waiting {
		a.forgone = a.forgone || a.seat == m.seat
	}
	for _, a := range n.subs {
		if a.seat == m.seat {
			a.forgone = true // also when its read, without a watch, has to be sent again
			w.table.unsubscribe(n, a)
			break
		}
	}
	w.spare(m.key)
}

// onVacated takes back all that a seat that was left depends on. What its reads under way would arm
// is given back when they are answered.
func (w *steward) onVacated(t *Seat) {
	delete(w.table.held, t)
	for a := w.table.seats[t]; a != nil; a = w.table.seats[t] {
		w.table.unsubscribe(w.table.entries[a.key], a)
		w.spare(a.key)
	}
}

// spare gives a watch back if nobody depends on it any more.
func (w *steward) spare(key watchKey) {
	n := w.table.entries[key]
	if n == nil || n.arming != nil || n.need != needed || len(n.subs) > 0 || w.table.keeping {
		return
	}
	n.need = due
	w.table.due = append(w.table.due, key)
	w.giveBack()
}

// mostGiven is how many watches are given back at a time: as many as a server deals with between
// two requests that somebody waits for.
const mostGiven = 128

// giveBack asks ZooKeeper to remove the watches that are due, one batch at a time. Those that come
// meanwhile are in the next.
func (w *steward) giveBack() {
	t := &w.table
	if t.giving {
		return
	}
	var batch []watchKey
	for len(t.due) > 0 && len(batch) < mostGiven {
		key := t.due[0]
		t.due = t.due[1:]
		if n := t.entries[key]; n != nil && n.need == due { // else somebody has asked for it again, or it has fired
			n.need = removing
			batch = append(batch, key)
		}
	}
	if len(batch) == 0 {
		t.due = nil
		return
	}
	t.giving = true
	w.takeBack(batch)
}

// unwatch sends the removal of watches.
func (w *steward) unwatch(keys []watchKey) {
	s, e := w.Session, w.epoch
	s.mu.Lock()
	conn, ups, closing := e.conn, e.ups, s.closing
	s.mu.Unlock()
	if closing {
		return // they go with the ZooKeeper session
	}
	watches := make([]link.Watch, len(keys))
	for i, key := range keys {
		watches[i] = key.onWire()
	}
	s.tasks.run(func() { // false: the session has ended, and its watches with it
		s.ref.Tell(unwatched{e, keys, ups, conn.Unwatch(watches)})
	})
}

// onUnwatched takes what became of a removal. A watch is gone also if the answer was lost: it goes
// with the connection, and is not armed on the next. One that was not asked for, since the
// connection was just being made, is asked for when there is one.
func (w *steward) onUnwatched(m unwatched) {
	t := &w.table
	t.giving = false
	unsent := errors.Is(m.err, link.ErrNotSent)
	t.keeping = t.keeping || errors.Is(m.err, ErrUnsupported)
	for _, key := range m.keys {
		n := t.entries[key]
		waiting := n.waiting
		n.need, n.waiting = needed, nil
		if n.fired || !unsent && !t.keeping {
			delete(t.entries, key)
		}
		for _, a := range waiting {
			w.onAsked(a)
		}
		if unsent && t.entries[key] == n && len(n.subs) == 0 {
			n.need = due
			t.due = append(t.due, key)
		}
	}
	switch {
	case t.keeping:
		t.due = nil
	case !unsent || w.reconnectedSince(m.ups):
		w.giveBack()
	}
}

// reconnectedSince: there is a connection that is newer than one of which this is the number. If
// there is none, it will be told of.
func (w *steward) reconnectedSince(ups uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.up && w.epoch.ups > ups
}

// watchStands tells whether ZooKeeper was asked for a watch that has not fired since, as far as is
// known on the wire: the session's actor hears of answers later than of the events behind them.
func (w *steward) watchStands(key watchKey) bool {
	return w.epoch.conn.Watches(key.onWire())
}

func (k watchKey) onWire() link.Watch {
	return link.Watch{Path: k.path, Children: k.kind == watchChildren}
}
