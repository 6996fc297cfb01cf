package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/session"
)

// settle settles items in one transaction. Commands that come meanwhile share the next one.
func (m *Machine) settle() {
	if m.settlement != nil {
		return
	}
	t, acks := &txn{}, true
	// A settlement that was refused may be refused for good: it goes alone, behind the others.
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
		t.add(machine.Op{Do: machine.Set, Path: m.base.root.Bell(), Version: machine.Any}, part{failed: func(machine.Code) { m.base.prepare() }})
	}
	// If the last search has left nothing free, the place in line is made in the same trip. The
	// next listing finds what has come meanwhile.
	searches := m.seeking() || len(m.search.candidates)+len(m.finder.free) > 0
	if acks && m.search.noneFree && !searches && m.holdings.wants() > 0 && m.place.path == "" && !m.place.doubt {
		t.joins = true
		t.add(m.place.join(), part{failed: func(machine.Code) { m.base.prepare() }})
	}
	t.done = func(results []machine.Result) {
		for _, i := range t.items {
			m.base.relist = m.base.relist || i.how != Ack // a listing under way may be older than the item's return
			m.holdings.end(i, nil)
		}
		if t.joins {
			m.place.joined(results[len(results)-1].Path)
		}
	}
	t.unknown = func() { // the settlement is sent again: see unclaimed
		for _, i := range t.items {
			i.doubts()
		}
		m.place.doubt = m.place.doubt || t.joins
	}
	t.refused = func(i *item, err error) {
		m.holdings.unsettle(i, err)
		m.base.pause()
	}
	m.send(t, settling, &m.settlement)
}

// settleItem adds the operations that settle an item where it is.
func (m *Machine) settleItem(t *txn, i *item) {
	op := machine.Op{Do: machine.Check, Path: i.at.Path(m.base.root), Version: i.version}
	switch i.how {
	case Ack:
		op.Do = machine.Delete
	case Nack:
		if len(i.failure) > 0 {
			op.Do, op.Data = machine.Set, i.next().Encode()
		}
	case Return:
		op.Do, op.Data = machine.Set, layout.WithAttempts(i.data, i.record.Attempts-1)
	}
	t.add(op, part{item: i, failed: func(code machine.Code) { m.unclaimed(i, code == machine.NoNode) }})
	claim := machine.Op{Do: machine.Delete, Path: m.base.root.Claim(i.at.Bucket, i.at.Seq), Version: machine.Any}
	t.add(claim, part{item: i, failed: func(machine.Code) { m.unclaimed(i, false) }})
	if i.how == Ack && !i.noID {
		path, _ := m.base.root.ID(i.record.ID)
		// If that fails, the id was deleted by hand, or has got a child by hand, and stays.
		t.add(machine.Op{Do: machine.Delete, Path: path, Version: machine.Any}, part{failed: func(machine.Code) { i.noID = true }})
	}
}

// unclaimed takes in that an item is not as this consumer has claimed it. The claim may exist all
// the same, and would keep others from the next item with its number.
//
// A settlement whose answer was lost is sent again, and fails here if the first was carried out.
// After an Ack the item must be gone then: if it is there, another client had deleted the claim
// before.
func (m *Machine) unclaimed(i *item, gone bool) {
	m.base.relist = true // a listing under way may be older than the item's return; and for a claim deleted by hand nothing rings
	m.base.once(machine.Read{Path: m.base.root.Claim(i.at.Bucket, i.at.Seq)}, key{purpose: releasing, token: i.token})
	if i.doubt && (gone || i.how != Ack) {
		m.holdings.end(i, nil)
	} else {
		m.holdings.end(i, session.ErrDeleted)
	}
}

// onClaim deletes a claim if a transaction of this consumer made it. After a deleteall there may be
// another claim of the same name.
func (m *Machine) onClaim(token int64, ev machine.Seen) {
	if ev.Exists && ev.Stat.Czxid == token {
		m.base.Requests.Ask(machine.Remove{Path: ev.Path}, key{purpose: releasing, at: ev.Path})
	}
}
