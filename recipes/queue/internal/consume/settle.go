package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// settle settles what is wished, in one transaction: what comes meanwhile shares the next. The
// operations of each item name the version that it has under this claim, so that none of them
// touches what somebody else has claimed since.
func (m *Machine) settle() {
	if m.under[settling] != nil {
		return
	}
	t, acks := &txn{}, true
	// One that was refused may be refused for good: it must not keep the others.
	for _, alone := range []bool{false, true} {
		for _, i := range m.holdings.held {
			fits := len(t.items) == 0 || !alone && t.fits(i)
			if i.how != 0 && i.alone == alone && fits && m.settleItem(t, i) {
				t.items = append(t.items, i)
				acks = acks && i.how == Ack
			}
		}
		if len(t.items) > 0 {
			break
		}
	}
	if len(t.items) == 0 {
		return
	}
	m.appendAll(t)
	// Nothing was left at the last look: the place in line is made in the same trip, and the look
	// behind it finds what has come meanwhile.
	if acks && m.vain && m.line.path == "" && m.holdings.room() > 0 && !m.seeking() && len(m.candidates)+len(m.search.free) == 0 {
		t.joins = true
		t.add(m.line.join(), part{failed: func(machine.Code) { m.prepare(m.root) }})
	}
	t.done = func(results []machine.Result) {
		for _, i := range t.items {
			m.force = m.force || i.how != Ack && i.due == 0 // a look under way may have been before it went back
			m.holdings.end(i, nil)
		}
		if t.joins {
			m.line.joined(results[len(results)-1].Path)
		}
	}
	t.unknown = func() { // it is sent again: see unclaimed
		for _, i := range t.items {
			i.doubt = true
		}
		m.line.doubt = m.line.doubt || t.joins
	}
	t.forbidden = func(i *item, err error) {
		m.holdings.unsettle(i, err)
		m.pause()
	}
	m.send(t, settling)
}

// settleItem adds what settles an item; false if something has to be known first.
func (m *Machine) settleItem(t *txn, i *item) bool {
	add := func(op machine.Op) {
		op.Path, op.Version = i.at.Path(m.root), i.version
		t.add(op, part{item: i, failed: func(code machine.Code) { m.unclaimed(i, code == machine.NoNode) }})
		claim := machine.Op{Do: machine.Delete, Path: m.root.Claim(i.at.Bucket, i.at.Seq), Version: machine.Any}
		t.add(claim, part{item: i, failed: func(machine.Code) { m.unclaimed(i, false) }})
	}
	switch {
	case i.how == Ack:
		add(machine.Op{Do: machine.Delete})
		t.free(m.root, i)
		return true
	case i.how == Return:
		add(machine.Op{Do: machine.Set, Data: layout.Counted(i.data, i.record.Attempts-1)})
	case m.holdings.spent(i.record.Attempts) && !m.avoided[string(m.dead.root)]: // it becomes a dead letter
		if !m.appends(&m.dead) {
			return false
		}
		add(machine.Op{Do: machine.Delete})
		t.free(m.root, i)
		t.appendTo(&m.dead, i, layout.Item{Bucket: layout.Bucket{Lane: layout.Lane{Priority: i.at.Bucket.Lane.Priority}}, GUID: i.at.GUID}, 0)
		m.ring(t, &m.dead)
		return true
	case i.after > 0 && !i.owned: // it pauses
		if i.due == 0 {
			m.later.tell()
		}
		if i.due == 0 || !m.appends(&m.tail) {
			return false
		}
		add(machine.Op{Do: machine.Delete})
		slot := layout.SlotOf(i.due-i.after, i.after) // due less after is when that was told
		t.appendTo(&m.tail, i, layout.Item{Bucket: layout.Bucket{Lane: slot}, GUID: i.at.GUID, Due: i.due}, i.record.Attempts)
		m.moved(t)
	default: // an item that its producer owns cannot be moved
		add(machine.Op{Do: machine.Check})
	}
	m.ring(t, &m.tail)
	return true
}

// onTold takes in the time, and when pauses end by that.
func (m *Machine) onTold(ev machine.Transacted) {
	if !m.ok(ev.Code, m.root.Line(), ev.Err) {
		return
	}
	m.later.saw(ev.Results[0].Stat.Mtime)
	for _, i := range m.holdings.held {
		if i.how == Nack && i.after > 0 && i.due == 0 {
			i.due = layout.Due(m.later.now, i.after)
		}
	}
}

// unclaimed takes in that an item is not what this consumer has claimed any more. A claim is left
// alone, also if its item is gone: the queue may have been deleted, and the claim be a rival's on
// an item which has that number now. One that stands for nothing goes with the session.
//
// If the answer to a settlement was lost, this is how the next one finds that it was carried out.
// Only of an Ack the item must be gone: if it is there, somebody has deleted the claim before.
func (m *Machine) unclaimed(i *item, gone bool) {
	switch {
	case i.doubt && (gone || i.how != Ack):
		m.force = true // a look under way may have been before it went back
		m.holdings.end(i, nil)
	case gone:
		m.holdings.end(i, ErrGone)
	default:
		m.holdings.end(i, ErrLost)
	}
}
