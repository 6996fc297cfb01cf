package take

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// askHome reads the part of the room to which is given back, if it is not known.
func (m *Machine) askHome() (effects []machine.Effect, known bool) {
	part, known := m.room.Home()
	if known {
		return nil, true
	}
	if m.homeAsked {
		return nil, false
	}
	m.homeAsked = true
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		m.homeAsked = false
		s := ev.(machine.Seen)
		switch {
		case s.Code != machine.Done:
			return m.fail(s.Err)
		case !s.Exists:
			return m.fail(give.ErrCapacity)
		}
		m.room.Saw(part, s.Data, s.Stat.Version)
		return nil
	})
	return []machine.Effect{machine.Read{Epoch: m.epoch, Ask: ask, Path: m.cfg.Site.Root.Stripe(part)}}, false
}

// sendBack puts items that were taken with AutoAck, and that nobody has received, back to where
// they were.
func (m *Machine) sendBack() []machine.Effect {
	switch {
	case m.backing || m.claiming != nil || len(m.backs) == 0 || m.receipt.asked:
		return nil
	case m.unsure:
		return m.askBack()
	}
	if setUp, ready := m.setUpReceipt(); !ready {
		return setUp
	}
	if m.bounded {
		if ask, known := m.askHome(); !known {
			return ask
		}
	}
	p := m.backs[0]
	ops := m.sign()
	signs := len(ops)
	var use room.Use
	if m.bounded {
		use = m.room.Give(-1)
		ops = append(ops, use.Op)
	}
	ops = append(ops, m.restore(p)...)
	m.backing, m.unsure = true, true
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		t := ev.(machine.Transacted)
		m.backing, m.unsure = false, t.Code == machine.Unknown
		switch {
		case t.Code == machine.Unknown:
		case t.Code == machine.Done:
			m.signed()
			if m.bounded {
				m.room.Used(use)
			}
			m.isBack()
		case t.Failed < 0 || t.Failed >= len(ops) || t.Code == machine.Refused:
			m.backs = m.backs[1:] // ZooKeeper refuses it: with AutoAck that is the end of it
		case t.Failed < signs:
			m.unsigned(t.Code)
		case m.bounded && t.Failed == signs:
			m.room.Forget(use.Part)
		default:
			return m.notBack(p, ops[t.Failed].Path, t.Code)
		}
		return nil
	})
	return []machine.Effect{machine.Transact{Epoch: m.epoch, Ask: ask, Ops: ops}}
}

// restore are the operations that put an item back, with all that belongs to it.
func (m *Machine) restore(p *pick) []machine.Op {
	var ops []machine.Op
	if p.bucket.gone && m.cfg.Site.Flat == "" { // it was retired: it comes back sealed
		ops = append(ops, machine.Op{Do: machine.Create, Path: p.bucket.path}, machine.Op{Do: machine.Set, Path: p.bucket.path, Version: 0})
	}
	if p.entry.ID != "" && m.cfg.Site.Flat == "" && !p.entry.orphan {
		ops = append(ops, machine.Op{Do: machine.Create, Path: m.cfg.Site.Root.ID(p.entry.ID), Data: []byte(p.entry.GUID)})
	}
	return append(ops, p.putBack())
}

// putBack is the operation that puts an item back to where it was: as a pack of one, if it came out
// of a pack.
func (p *pick) putBack() machine.Op {
	if p.pack == nil {
		return machine.Op{Do: machine.Create, Path: p.path, Data: p.data}
	}
	one := p.pack.pack.Part(p.entry.Part, p.entry.Part)
	return machine.Op{Do: machine.Create, Path: znode.Join(p.bucket.path, one.Name()), Data: place.Wrap([][]byte{p.data})}
}

// isBack takes in that the first of those that are put back is there.
func (m *Machine) isBack() {
	m.backs[0].bucket.stale = true
	m.backs = m.backs[1:]
}

// notBack takes in that one operation failed, and nothing was done. It is tried again.
func (m *Machine) notBack(p *pick, path string, code machine.Code) []machine.Effect {
	switch own := p.putBack().Path; {
	case path == own && code == machine.NodeExists: // somebody else has put it there
		m.isBack()
	case path == own && m.cfg.Site.Flat != "":
		return m.pave(m.cfg.Site.Flat, false)
	case path == own:
		p.bucket.gone = true
	case path == p.bucket.path && code == machine.NoNode:
		return m.pave(string(m.cfg.Site.Root), true)
	case path == p.bucket.path:
		p.bucket.gone = false
	case code == machine.NoNode: // where its id is to be: a container, which goes when it is empty
		parent, _ := znode.Split(path)
		return m.pave(parent, true)
	default: // its id is somebody else's by now
		p.entry.orphan = true
	}
	return nil
}

// pave makes what an item is put back into.
func (m *Machine) pave(path string, container bool) []machine.Effect {
	m.backing = true
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		m.backing = false
		if e := ev.(machine.Ensured); e.Code != machine.Done {
			return m.fail(e.Err)
		}
		return nil
	})
	return []machine.Effect{machine.Ensure{Epoch: m.epoch, Ask: ask, Path: path, Container: container}}
}

// askBack looks whether an item was put back of which the answer was lost: by now somebody else may
// have taken it. Without a receipt it counts as put back: at most once.
func (m *Machine) askBack() []machine.Effect {
	return m.readReceipt(func(carriedOut bool) []machine.Effect {
		m.unsure = false
		m.room.ForgetAll()
		if carriedOut || !m.receipt.made {
			m.isBack()
		}
		return nil
	})
}
