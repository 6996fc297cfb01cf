package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

func (m *Machine) onAnswer(k key, ev machine.Event) {
	if k.purpose == auditing {
		m.onAudited(k, ev)
		return
	}
	switch ev := ev.(type) {
	case machine.Ensured:
		m.onPrepared(k, ev)
	case machine.Removed:
		m.removing--
	case machine.Listed:
		switch k.purpose {
		case lining:
			m.onLine(ev)
		case digging:
			m.onDug(ev)
		case sweeping:
			b, _ := place.ParseBucket(k.at) // as it was asked for
			m.onSwept(ev, b)
		default:
			m.onListed(k, ev)
		}
	case machine.Seen:
		m.onSeen(k, ev)
	case machine.Transacted:
		m.onTransacted(k, ev)
	}
}

func (m *Machine) onSeen(k key, ev machine.Seen) {
	switch k.purpose {
	case checking:
		m.onChecked(ev)
	case guarding:
		m.onGuarded(ev)
	case following:
		m.onFollowed(ev)
	case measuring:
		m.onMeasured(ev)
	case reading:
		m.onRead(k.at, ev)
	case opening:
		m.onOpened(k.at, ev)
	case resolving:
		m.onResolved(ev)
	case rooming:
		m.onRoom(ev)
	case fetching:
		m.onFetched(ev)
	}
}

func (m *Machine) onTransacted(k key, ev machine.Transacted) {
	switch k.purpose {
	case signing:
		m.onSigned(ev)
	case joining:
		m.onJoined(ev)
	case inheriting:
		m.onInherited(k.at, ev)
	case writing:
		m.onWritten(ev)
	case moving:
		m.onMoved(ev)
	case returning:
		m.view.cursor = nil // it has another version now
	case clearing:
		b, _ := place.ParseBucket(k.at) // as it was asked for
		delete(m.later.listings, b)     // if it is there still, it is not as it was believed to be
		delete(m.view.listings, b)
	}
}

func (m *Machine) onWritten(ev machine.Transacted) {
	t := m.txn
	switch {
	case ev.Code == machine.Done:
		for n, p := range t.parts {
			switch p.kind {
			case ofGrave:
				m.graves.tail.Done(p.tail, ev.Results[n])
				m.graves.tries = 0
			case ofRoom:
				m.room.Used(t.use)
			}
		}
		m.written(t, ev.Results[len(ev.Results)-1].Stat) // the journal is written last
	case ev.Code == machine.Unknown:
		t.inDoubt = true
	case ev.Failed < 0 || ev.Failed >= len(t.parts):
		m.txn = nil
		if len(t.burials) > 0 { // perhaps because of them
			m.grieve(ev.Err)
			return
		}
		m.failed(t, ev.Err)
	default:
		m.txn = nil
		m.onFailed(t, t.parts[ev.Failed], ev)
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
		m.graves.forget()
		m.own.version = ev.Stat.Version
	default:
		m.graves.forget() // where they went is not known
		m.room.ForgetAll()
		m.written(t, ev.Stat)
	}
}

// written: the transaction was carried out.
func (m *Machine) written(t *txn, s machine.Stat) {
	m.txn, m.tries = nil, 0
	if t.last {
		m.stop()
		return
	}
	m.own.number++
	m.own.version = s.Version
	m.clock.now, m.clock.fresh = s.Mtime, true
	for _, i := range t.timing {
		i.due = place.Due(s.Mtime, i.after)
	}
	if t.leaves {
		m.left()
	}
	m.advance(t)
	var left []*claim
	for _, c := range append(m.claims, t.claims...) {
		n, ok := t.next[c]
		if !ok {
			m.ended(c)
			continue
		}
		c.Claim = n
		c.removed &= n.Left()
		left = append(left, c)
	}
	for _, c := range t.claims {
		c.token = s.Mzxid
	}
	m.claims = left
	m.answer(t)
	m.handOut()
}

// advance takes into the view what was claimed.
func (m *Machine) advance(t *txn) {
	v := &m.view
	if t.cursor != nil && v.cursor != nil {
		v.cursor = t.cursor
		v.version++
	}
	var rest []layout.Returned
	for _, r := range v.returned {
		if !t.returned[r.Name()] {
			rest = append(rest, r)
		}
	}
	v.returned = rest
}

// ended: a claim is not in the journal any more.
func (m *Machine) ended(c *claim) {
	if !c.gone {
		return
	}
	for _, i := range c.items {
		m.drop(i, ErrGone)
	}
}

// answer tells what was settled.
func (m *Machine) answer(t *txn) {
	for _, i := range t.settled {
		delete(m.items, i.no)
		switch {
		case i.auto:
			m.deliver(i)
		case i.told:
			m.requests.Emit(Settled{No: i.no})
		}
		i.claim.forget(i)
	}
	if all, _ := m.unsettled(); all == 0 && len(t.settled) > 0 {
		m.window.emptied()
		m.requests.Cancel(key{purpose: judging})
	}
}

func (c *claim) forget(i *item) {
	var items []*item
	for _, j := range c.items {
		if j != i {
			items = append(items, j)
		}
	}
	c.items = append([]*item{}, items...)
}

// onFailed: nothing was carried out, because of one operation.
func (m *Machine) onFailed(t *txn, p part, ev machine.Transacted) {
	gone := ev.Code == machine.NoNode
	switch {
	case p.kind == ofGrave:
		m.buryFailed(p.tail, ev)
	case ev.Code == machine.Refused:
		m.failed(t, ev.Err)
	case p.kind == ofID && gone:
		p.item.freed = true
	case p.kind == ofRoom:
		m.room.ForgetAll()
	case p.kind == ofJournal, p.kind == ofAlive:
		m.lose()
	case p.kind == ofCursor:
		m.view.cursor = nil
		if gone {
			m.prepare(0)
		}
	case p.kind == ofReturned:
		m.view.back = false
	case p.kind == ofItems:
		p.claim.gone, p.claim.stale = gone, !gone
	case p.kind == ofLine:
		m.left()
	case p.kind == ofBack && gone:
		m.prepare(0)
	default:
		m.failed(t, ev.Err)
	}
}

// failed: what was to be settled is answered, and can be settled again; all else is tried again
// after a pause.
func (m *Machine) failed(t *txn, err error) {
	for _, i := range t.settled {
		if i.told {
			i.how, i.told = 0, false
			m.requests.Emit(Settled{No: i.no, Err: err})
		}
	}
	m.refused(m.cfg.Root.Journal(m.own.tag), err)
}
