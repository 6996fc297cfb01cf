package give

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// sent takes in what became of the transaction.
func (m *Machine) sent(t machine.Transacted) []machine.Effect {
	b := m.batch
	switch t.Code {
	case machine.Done:
		m.batch = nil
		return m.done(b, t)
	case machine.Unknown:
		m.doubt()
		return nil
	}
	m.batch = nil
	if t.Failed < 0 || t.Failed >= len(b.parts) || t.Code == machine.Refused {
		return m.rejected(b, t)
	}
	return m.failed(b.parts[t.Failed], b.ops[t.Failed].Path, t)
}

// done: the items are in the queue.
func (m *Machine) done(b *batch, t machine.Transacted) []machine.Effect {
	m.solo, m.tries = false, 0
	if b.receipt {
		m.receipt.alive, m.receipt.known = true, true
		m.receipt.version++
	}
	for _, u := range b.uses {
		m.room.Used(u)
	}
	last := make(map[*lane]int32)
	for i, p := range b.parts {
		if p.kind == theItem && i < len(t.Results) {
			if _, seq, ok := znode.Sequence(t.Results[i].Path); ok {
				last[p.lane] = seq
			}
		}
	}
	for n, seq := range last {
		n.took(seq, b.loads[n].items, b.seals[n])
	}
	var effects []machine.Effect
	for _, j := range b.jobs {
		effects = append(effects, m.settle(j, nil)...)
	}
	return effects
}

// rejected: the transaction as a whole was. If it was of several wishes, each is tried alone.
func (m *Machine) rejected(b *batch, t machine.Transacted) []machine.Effect {
	m.listed = false
	if len(b.jobs) > 1 {
		m.solo = true
		return nil
	}
	return m.settle(b.jobs[0], t.Err)
}

// failed: one operation did, and nothing was done.
func (m *Machine) failed(p part, path string, t machine.Transacted) []machine.Effect {
	switch p.kind {
	case theAlive:
		m.receipt.alive = t.Code == machine.NodeExists
		m.receipt.made = t.Code != machine.NoNode
	case theReceipt:
		m.receipt.made = t.Code != machine.NoNode
		m.receipt.known = false
		if t.Code == machine.NoNode {
			m.receipt.version = 0
		} else {
			m.receipt.version = max(m.receipt.version, 1) // so that it is read
		}
	case theBucket:
		known := t.Code == machine.BadVersion && p.lane.turnedOut() || t.Code == machine.NoNode && p.lane.gone()
		m.listed = m.listed && known
	case newBucket:
		p.lane.missing = t.Code != machine.NodeExists
		m.exists = m.exists && t.Code != machine.NoNode
	case nextBucket:
		p.lane.hasNext = t.Code == machine.NodeExists
	case theRoom:
		m.room.Forget(p.use.Part)
		m.listed = m.listed && t.Code != machine.NoNode
	case theAlso:
		return m.settle(p.job, &MootError{Path: path})
	case theID:
		if t.Code == machine.NodeExists {
			return m.settle(p.job, ErrDuplicate)
		}
		parent, _ := znode.Split(p.id)
		return m.ensure(parent, true, func() {})
	case theItem:
		m.listed, m.exists = false, m.exists && m.cfg.Site.Flat == ""
	}
	return nil
}
