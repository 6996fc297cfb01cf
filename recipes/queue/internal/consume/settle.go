package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/session"
)

// settle settles what is asked for, in one transaction: what comes meanwhile shares the next. The
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
			if i.how != 0 && !i.put && i.alone == alone && fits {
				m.settleItem(t, i)
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
	if !acks {
		t.add(machine.Op{Do: machine.Set, Path: m.root.Bell(), Version: machine.Any}, part{failed: func(machine.Code) { m.prepare() }})
	}
	// Nothing was left at the last look: the place in line is made in the same trip, and the look
	// behind it finds what has come meanwhile.
	if acks && m.vain && m.line.path == "" && m.holdings.room() > 0 && !m.seeking() && len(m.candidates)+len(m.search.free) == 0 {
		t.joins = true
		t.add(m.line.join(), part{failed: func(machine.Code) { m.prepare() }})
	}
	t.done = func(results []machine.Result) {
		for _, i := range t.items {
			m.force = m.force || i.how != Ack // a look under way may have been before it went back
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

// settleItem adds what settles an item that stays where it is, or goes.
func (m *Machine) settleItem(t *txn, i *item) {
	op := machine.Op{Do: machine.Check, Path: i.at.Path(m.root), Version: i.version}
	switch i.how {
	case Ack:
		op.Do = machine.Delete
	case Return:
		op.Do, op.Data = machine.Set, layout.Counted(i.data, i.record.Attempts-1)
	}
	t.add(op, part{item: i, failed: func(code machine.Code) { m.unclaimed(i, code == machine.NoNode) }})
	claim := machine.Op{Do: machine.Delete, Path: m.root.Claim(i.at.Bucket, i.at.Seq), Version: machine.Any}
	t.add(claim, part{item: i, failed: func(machine.Code) { m.unclaimed(i, false) }})
	if i.how == Ack {
		t.free(m.root, i)
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
	default:
		m.holdings.end(i, session.ErrDeleted)
	}
}
