package take

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// askHome reads the part of the room to which is given back, if it is not known.
func (m *Machine) askHome() (effects []recipe.Effect, known bool) {
	part, known := m.room.Home()
	if known {
		return nil, true
	}
	if m.homeAsked {
		return nil, false
	}
	m.homeAsked = true
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		m.homeAsked = false
		s := ev.(recipe.Seen)
		switch {
		case s.Code != recipe.Done:
			return m.fail(s.Err)
		case !s.Exists:
			return m.fail(give.ErrCapacity)
		}
		m.room.Saw(part, s.Data, s.Stat.Version)
		return nil
	})
	return []recipe.Effect{recipe.Read{Epoch: m.epoch, Ask: ask, Path: m.cfg.Site.Root.Stripe(part)}}, false
}

// sendBack puts items that were taken with AutoAck, and that nobody has received, back to where they were.
func (m *Machine) sendBack() []recipe.Effect {
	if m.backing || len(m.backs) == 0 {
		return nil
	}
	p := m.backs[0]
	if m.bounded {
		if ask, known := m.askHome(); !known {
			return ask
		}
	}
	var ops []recipe.Op
	var use room.Use
	if m.bounded {
		use = m.room.Give(-1)
		ops = append(ops, use.Op)
	}
	if p.bucket.gone && m.cfg.Site.Flat == "" { // it was retired: it comes back sealed
		ops = append(ops, recipe.Op{Do: recipe.Create, Path: p.bucket.path}, recipe.Op{Do: recipe.Set, Path: p.bucket.path, Version: 0})
	}
	if p.entry.ID != "" && m.cfg.Site.Flat == "" && !p.entry.orphan {
		ops = append(ops, recipe.Op{Do: recipe.Create, Path: m.cfg.Site.Root.ID(p.entry.ID), Data: []byte(p.entry.GUID)})
	}
	ops = append(ops, p.putBack())
	m.backing = true
	ask := m.ask(func(ev recipe.Event) []recipe.Effect { return m.back(p, use, ops, ev.(recipe.Transacted)) })
	return []recipe.Effect{recipe.Transact{Epoch: m.epoch, Ask: ask, Ops: ops}}
}

// putBack is the operation that puts an item back to where it was: as a pack of one, if it came out of a pack.
func (p *pick) putBack() recipe.Op {
	if p.pack == nil {
		return recipe.Op{Do: recipe.Create, Path: p.path, Data: p.data}
	}
	one := p.pack.pack.Part(p.entry.Part, p.entry.Part)
	return recipe.Op{Do: recipe.Create, Path: znode.Join(p.bucket.path, one.Name()), Data: place.Wrap([][]byte{p.data})}
}

func (m *Machine) back(p *pick, use room.Use, ops []recipe.Op, t recipe.Transacted) []recipe.Effect {
	m.backing = false
	own, failed := p.putBack().Path, ""
	if t.Failed >= 0 && t.Failed < len(ops) {
		failed = ops[t.Failed].Path
	}
	switch {
	case t.Code == recipe.Done, failed == own && t.Code == recipe.NodeExists:
		if t.Code == recipe.Done && m.bounded {
			m.room.Used(use)
		}
		m.backs = m.backs[1:]
		p.bucket.stale = true
	case t.Code == recipe.Unknown:
		m.room.ForgetAll()
	case failed == own: // NoNode
		p.bucket.gone = true
	case failed == p.bucket.path:
		p.bucket.gone = t.Code != recipe.NodeExists
	case m.bounded && failed == use.Op.Path:
		m.room.Forget(use.Part)
	case failed != "": // its id is somebody else's by now
		p.entry.orphan = true
	default:
		m.backs = m.backs[1:] // ZooKeeper refuses it: with AutoAck that is the end of it
	}
	return nil
}
