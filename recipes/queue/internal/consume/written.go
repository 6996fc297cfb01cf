package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

func (m *Machine) onWritten(ev machine.Transacted) {
	t := m.txn
	switch {
	case ev.Code == machine.Done:
		for n, w := range t.whys {
			switch w.kind {
			case ofGrave:
				m.graves.buried(w.tail, ev.Results[n])
			case ofRoom:
				m.space.room.Used(t.use)
			case ofPlace:
				m.line.joined(ev.Results[n].Path)
			case ofCursor:
				m.view.measured(t, ev.Results[n].Stat.Version)
			}
		}
		m.written(t, ev.Results[len(ev.Results)-1].Stat) // the journal is written last
	case ev.Code == machine.Unknown:
		t.inDoubt = true
	case ev.Failed < 0 || ev.Failed >= len(t.whys):
		m.txn = nil
		if len(t.burials) > 0 { // perhaps because of them
			m.graves.grieve(ev.Err)
			return
		}
		m.failed(t, ev.Err)
	default:
		m.txn = nil
		m.onFailed(t, t.whys[ev.Failed], ev)
	}
}

// onResolved tells whether a transaction was carried out whose answer was lost.
func (m *Machine) onResolved(ev machine.Seen) {
	t := m.txn
	j, ok := layout.ParseJournal(ev.Data)
	switch {
	case ev.Code != machine.Done:
		m.refused(ev.Path, ev.Err)
	case !ev.Exists, !ok: // somebody has taken it over, or this was the end
		m.lose()
	case j.Number == m.own.number:
		m.txn = nil
		m.graves.tail.Forget()
		m.own.version = ev.Stat.Version
	default:
		m.graves.tail.Forget() // where they went is not known
		m.space.room.ForgetAll()
		m.view.cursor = nil // it may have been read again since
		if t.joins {
			m.line.list()
		}
		m.written(t, ev.Stat)
	}
}

// written: the transaction was carried out.
func (m *Machine) written(t *txn, s machine.Stat) {
	m.txn, m.tries = nil, 0
	if t.last {
		m.book.settled(t.settled)
		m.stop()
		return
	}
	m.own.written(s)
	m.clock.written(s.Mtime)
	for _, i := range t.timing {
		i.due = place.Due(s.Mtime, i.after)
	}
	if t.leaves {
		m.left()
	}
	m.view.claimed(t.returned)
	m.book.written(t.next, t.claims, s.Mzxid)
	m.book.settled(t.settled)
	m.book.handOut()
}

// onFailed: nothing was carried out, because of one operation.
func (m *Machine) onFailed(t *txn, w why, ev machine.Transacted) {
	gone := ev.Code == machine.NoNode
	switch {
	case w.kind == ofGrave:
		m.graves.failed(w.tail, ev)
	case ev.Code == machine.Refused:
		m.failed(t, ev.Err)
	case w.kind == ofMark && gone:
		w.claim.unmarked |= 1 << w.index
	case w.kind == ofID && gone:
		w.item.freed = true
	case w.kind == ofRoom:
		m.space.room.ForgetAll()
	case w.kind == ofJournal, w.kind == ofAlive:
		m.lose()
	case w.kind == ofCursor:
		m.view.cursor = nil
		if gone {
			m.prepare()
		}
	case w.kind == ofReturned && gone:
		m.view.back = false
	case w.kind == ofItems && gone:
		w.claim.gone = true
	case w.kind == ofItems && ev.Code == machine.BadVersion:
		w.claim.stale = true
	case w.kind == ofReturned, w.kind == ofItems: // somebody has made a child of it
		m.stuck(t, w, ev)
	case w.kind == ofLine:
		m.left()
	case w.kind == ofBack && gone, w.kind == ofPlace && gone:
		m.prepare()
	case ev.Code == machine.NodeExists && len(w.run) > 0: // they have gone back already, by somebody's hand
		for _, i := range w.run {
			w.claim.removed |= i.bit()
			m.book.drop(i, ErrGone)
			w.claim.forget(i)
		}
	case ev.Code == machine.NodeExists && w.kind == ofBack:
		w.claim.gone = true
	default:
		m.failed(t, ev.Err)
	}
}

// stuck: one znode cannot be deleted. All else goes on without it, and it is tried again later.
func (m *Machine) stuck(t *txn, w why, ev machine.Transacted) {
	if w.claim != nil {
		w.claim.foreign = true
		for _, i := range w.claim.items {
			m.book.unsettle(i, ev.Err)
		}
	}
	m.skip(t.ops[ev.Failed].Path, ev.Err)
}

// failed: what was to be settled is answered, and can be settled again; all else is tried again
// after a pause.
func (m *Machine) failed(t *txn, err error) {
	for _, i := range t.settled {
		m.book.unsettle(i, err)
	}
	m.refused(m.own.journal(), err)
}
