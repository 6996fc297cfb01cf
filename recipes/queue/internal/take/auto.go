package take

import (
	"fmt"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// receipt is what is believed of the receipt for items that are taken with AutoAck: see package
// give.
type receipt struct {
	made    bool
	alive   bool
	asked   bool
	other   bool // it has another version, because somebody else has written to it
	version int32
}

func (m *Machine) receiptPath() string {
	site := m.cfg.Site
	return site.Receipt(m.cfg.Producer)
}

// setUpReceipt makes the receipt, if it is not there yet, or reads it, if its version is not known.
func (m *Machine) setUpReceipt() (effects []machine.Effect, ready bool) {
	switch {
	case m.receipt.asked:
		return nil, false
	case !m.receipt.made:
		return m.makeReceipt(), false
	case m.receipt.other:
		return m.readReceipt(func(bool) []machine.Effect { return nil }), false
	}
	return nil, true
}

func (m *Machine) makeReceipt() []machine.Effect {
	m.receipt.asked = true
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		m.receipt.asked = false
		if e := ev.(machine.Ensured); e.Code != machine.Done {
			return m.fail(e.Err)
		}
		m.receipt.made = true
		return nil
	})
	return []machine.Effect{machine.Ensure{Epoch: m.epoch, Ask: ask, Path: m.receiptPath(), Container: true}}
}

// readReceipt reads the receipt: last tells whether the transaction whose answer was lost was
// carried out. Nothing else is to be under way that writes it.
func (m *Machine) readReceipt(then func(last bool) []machine.Effect) []machine.Effect {
	m.receipt.asked = true
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		m.receipt.asked = false
		s := ev.(machine.Seen)
		if s.Code != machine.Done {
			return m.fail(s.Err)
		}
		last := s.Exists && s.Stat.Version == m.receipt.version+1
		m.receipt.made, m.receipt.version, m.receipt.other = s.Exists, s.Stat.Version, false
		return then(last)
	})
	return []machine.Effect{machine.Read{Epoch: m.epoch, Ask: ask, Path: m.receiptPath()}}
}

// sign are the operations that write the receipt, as part of a transaction.
func (m *Machine) sign() []machine.Op {
	ops := []machine.Op{{Do: machine.Set, Path: m.receiptPath(), Data: []byte(m.cfg.GUID), Version: m.receipt.version}}
	if !m.receipt.alive {
		ops = append(ops, machine.Op{Do: machine.Create, Path: fmt.Sprintf("%s/alive-%x", m.receiptPath(), uint64(m.session)), Ephemeral: true})
	}
	return ops
}

// signed takes in that the transaction was carried out.
func (m *Machine) signed() {
	m.receipt.alive = true
	m.receipt.version++
}

// unsigned takes in that an operation of the receipt failed.
func (m *Machine) unsigned(code machine.Code) {
	switch code {
	case machine.NodeExists:
		m.receipt.alive = true
	case machine.NoNode:
		m.receipt = receipt{}
	default:
		m.receipt.other = true
	}
}

// sendTaking deletes items, and so takes them.
func (m *Machine) sendTaking(c *claim) []machine.Effect {
	if m.bounded {
		if ask, known := m.askHome(); !known {
			m.line = append(c.picks, m.line...)
			return ask
		}
	}
	c.add(nil, m.sign()...)
	if m.bounded {
		u := m.room.Give(len(c.picks))
		c.gives = []room.Use{u}
		c.add(nil, u.Op)
	}
	for _, b := range batches(c.picks) {
		p := b[0]
		if p.pack != nil {
			c.add(p, b.unpack()...)
			continue
		}
		c.add(p, machine.Op{Do: machine.Delete, Path: p.path, Version: p.version})
		if p.entry.ID != "" && m.cfg.Site.Flat == "" && !p.entry.orphan {
			c.add(p, machine.Op{Do: machine.Delete, Path: m.cfg.Site.Root.ID(p.entry.ID), Version: machine.Any})
		}
	}
	m.claiming = c
	ask := m.ask(func(ev machine.Event) []machine.Effect { return m.taken(c, ev.(machine.Transacted)) })
	return []machine.Effect{machine.Transact{Epoch: m.epoch, Ask: ask, Ops: c.ops}}
}

// taken takes in what became of the deletions.
func (m *Machine) taken(c *claim, t machine.Transacted) []machine.Effect {
	switch t.Code {
	case machine.Done:
		for _, u := range c.gives {
			m.room.Used(u)
		}
		m.signed()
		return m.carriedOut(c)
	case machine.Unknown:
		c.doubt = true
		return nil
	}
	m.claiming = nil
	if t.Failed < 0 || t.Failed >= len(c.of) || t.Code == machine.Refused {
		return m.fail(t.Err)
	}
	switch p := c.of[t.Failed]; {
	case p == nil && len(c.gives) > 0 && c.ops[t.Failed].Path == c.gives[0].Op.Path:
		m.room.Forget(c.gives[0].Part)
		m.line = append(c.picks, m.line...)
	case p == nil:
		m.unsigned(t.Code)
		m.line = append(c.picks, m.line...)
	case p.entry.ID != "" && c.ops[t.Failed].Path == m.cfg.Site.Root.ID(p.entry.ID): // only its id is gone
		p.entry.orphan = true
		m.line = append(c.picks, m.line...)
	default:
		return m.quicker(c, p)
	}
	return nil
}

// carriedOut delivers what was taken.
func (m *Machine) carriedOut(c *claim) []machine.Effect {
	m.claiming = nil
	m.got()
	var effects []machine.Effect
	for _, p := range c.picks {
		if m.closing {
			m.backs = append(m.backs, p)
			continue
		}
		m.items++
		m.delivered++
		m.held[m.items] = &held{no: m.items, pick: p}
		effects = append(effects, m.deliver(m.held[m.items]))
	}
	return effects
}

// askReceipt looks whether items whose answer was lost were taken. Without a receipt, which only a
// long outage explains, those that are not there any more count as taken: at most once.
func (m *Machine) askReceipt() []machine.Effect {
	if m.receipt.asked {
		return nil
	}
	c := m.claiming
	return m.readReceipt(func(carriedOut bool) []machine.Effect {
		m.room.ForgetAll()
		if carriedOut {
			return m.carriedOut(c)
		}
		m.claiming = nil
		m.afresh(c.picks)
		return nil
	})
}
