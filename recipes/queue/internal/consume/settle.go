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
		for _, i := range m.held {
			fits := len(t.items) == 0 || !alone && !t.full() && t.size+len(i.data) < mostBytes
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
	t.appendAll()
	if acks && m.vain && m.path == "" && m.room() > 0 && m.under[claiming] == nil && m.candidates == nil && m.free == nil &&
		!m.busy(looking, reading, joining, leaving) {
		t.add(part{what: thePlace}, m.join())
	}
	m.send(t, settling)
}

// settleItem adds what settles an item; false if something has to be known first.
func (m *Machine) settleItem(t *txn, i *item) bool {
	path := i.at.Path(m.root)
	add := func(op machine.Op) {
		op.Path, op.Version = path, i.version
		t.add(part{what: theItem, item: i}, op)
		claim := machine.Op{Do: machine.Delete, Path: m.root.Claim(i.at.Bucket, i.at.Seq), Version: machine.Any}
		t.add(part{what: theClaim, item: i}, claim)
	}
	switch {
	case i.how == Ack:
		add(machine.Op{Do: machine.Delete})
		t.free(m.root, i)
		return true
	case i.how == Return:
		add(machine.Op{Do: machine.Set, Data: layout.Counted(i.data, i.record.Attempts-1)})
	case m.buries(i.record.Attempts):
		if !m.appends(&m.dead) {
			return false
		}
		add(machine.Op{Do: machine.Delete})
		t.free(m.root, i)
		t.bury(&m.dead, i)
		return true
	case i.after > 0 && !i.owned:
		if i.due == 0 {
			m.tell()
		}
		if i.due == 0 || !m.appends(&m.tail) {
			return false
		}
		add(machine.Op{Do: machine.Delete})
		t.postpone(&m.tail, i)
	default: // an item that its producer owns cannot be moved
		add(machine.Op{Do: machine.Check})
	}
	t.ring(&m.tail)
	return true
}

// onTold takes in the time, and when pauses end by that.
func (m *Machine) onTold(ev machine.Transacted) {
	if !m.ok(ev.Code, m.root.Line(), ev.Err) {
		return
	}
	m.saw(ev.Results[0].Stat.Mtime)
	for _, i := range m.held {
		if i.how == Nack && i.after > 0 && i.due == 0 {
			i.due = layout.Due(m.now, i.after)
		}
	}
}

// unsettled takes in that an item is not what this consumer has claimed any more. A claim is left
// alone, also if its item is gone: the queue may have been deleted, and the claim be a rival's on
// an item which has that number now. One that stands for nothing goes with the session.
func (m *Machine) unsettled(w part, code machine.Code) {
	cause := ErrLost
	if w.what == theItem && code == machine.NoNode {
		cause = ErrGone
	}
	m.over(w.item, cause)
}
