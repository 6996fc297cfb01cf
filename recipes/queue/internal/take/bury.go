package take

import (
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// burial is an item that has had all its attempts, on its way to the dead letters.
type burial struct {
	pick *pick
	held *held // nil: nobody has it, its last owner died with it
	cut  *cut  // of the span it lies in
	vain int   // how often it failed though the item was there
}

// bury moves one item at a time to the dead letters, in the transaction that takes it out of the
// queue.
func (m *Machine) bury() []machine.Effect {
	if m.burying || len(m.burials) == 0 || m.settle != nil { // a settlement may cut the same span
		return nil
	}
	if m.bounded {
		if ask, known := m.askHome(); !known {
			return ask
		}
	}
	b := m.burials[0]
	if b.held != nil && b.held.gone {
		m.burials = m.burials[1:]
		return m.bury()
	}
	m.burying = true
	also := m.unearth(b)
	var use room.Use
	if m.bounded {
		use = m.room.Give(1)
		also = append(also, use.Op)
	}
	i := give.Item{GUID: b.pick.entry.GUID, ID: b.pick.entry.ID, Data: b.pick.data, Priority: b.pick.entry.Priority}
	return m.subs[undertaker].do(i, also, func(err error) []machine.Effect {
		m.burying = false
		var moot *give.MootError
		switch {
		case !errors.As(err, &moot):
			if m.bounded && err == nil {
				m.room.Used(use)
			}
		case m.bounded && moot.Path == use.Op.Path:
			m.room.Forget(use.Part)
			return nil // it is tried again
		case b.pick.entry.ID != "" && moot.Path == m.cfg.Site.Root.ID(b.pick.entry.ID): // only its id is gone
			b.pick.entry.orphan = true
			return nil
		default:
			err = ErrLost
		}
		m.burials = slices.DeleteFunc(m.burials, func(c *burial) bool { return c == b })
		return m.buried(b, err)
	})
}

// vainly is after how many attempts an item that is there, and can't be buried, is given up.
const vainly = 6

// unearth are the operations that take it out of the queue, if nobody else has it.
func (m *Machine) unearth(b *burial) []machine.Op {
	p := b.pick
	version := p.version
	var ops []machine.Op
	if b.held != nil {
		version = b.held.version
		ops = append(ops, machine.Op{Do: machine.Check, Path: b.held.run.path, Version: machine.Any})
	}
	switch {
	case p.pack == nil:
		ops = append(ops, machine.Op{Do: machine.Delete, Path: p.path, Version: version})
	case b.held == nil:
		ops = append(ops, batch{p}.unpack()...)
	default:
		b.cut = &cut{span: b.held.span, items: []*held{b.held}}
		b.cut.bury()
		ops = append(ops, b.cut.ops()...)
	}
	if p.entry.ID != "" && !p.entry.orphan {
		ops = append(ops, machine.Op{Do: machine.Delete, Path: m.cfg.Site.Root.ID(p.entry.ID), Version: machine.Any})
	}
	return ops
}

// buried takes in what became of it.
func (m *Machine) buried(b *burial, err error) []machine.Effect {
	h := b.held
	switch {
	case h == nil && err != nil && !errors.Is(err, ErrLost):
		return m.fail(err)
	case h == nil:
		b.pick.bucket.stale = true // if it is still there, it is read again
		if m.bounded && err != nil {
			m.forgetHome()
		}
		return nil
	case h.gone || m.epoch == 0:
		return nil
	case err == nil || !errors.Is(err, ErrLost):
		if b.cut != nil && err == nil {
			b.cut.carriedOut()
		}
		return m.finish(h, err)
	case b.cut != nil:
		return m.exhume(b)
	}
	// It is somebody else's, or the answer to a burial was lost: look.
	m.forgetHome()
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		s := ev.(machine.Seen)
		switch {
		case h.gone:
			return nil
		case s.Code != machine.Done:
			return m.finish(h, s.Err)
		case !s.Exists && !h.run.gone: // nobody else could have taken it away: the answer to a burial was lost
			return m.finish(h, nil)
		case !s.Exists || s.Stat.Version != h.version || b.vain == vainly:
			return m.finish(h, ErrLost)
		}
		b.vain++
		m.burials = append(m.burials, b)
		return nil
	})
	return []machine.Effect{machine.Read{Epoch: m.epoch, Ask: ask, Path: b.pick.path}}
}

// exhume looks where an item lies that could not be buried.
func (m *Machine) exhume(b *burial) []machine.Effect {
	m.forgetHome()
	h := b.held
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		l := ev.(machine.Listed)
		switch {
		case h.gone:
			return nil
		case l.Code != machine.Done && l.Code != machine.NoNode:
			return m.finish(h, l.Err)
		}
		h.how = 0 // it is no settlement
		effects := m.found(b.cut.span, l.Names, false)
		h.how = Nack
		switch {
		case h.span.lost && !h.run.gone && slices.Contains(l.Names, nameOf(h.run.path)): // nobody else could have taken it away: the answer to a burial was lost
			return append(effects, m.finish(h, nil)...)
		case h.span.lost || b.vain == vainly:
			return append(effects, m.finish(h, ErrLost)...)
		}
		b.vain++
		m.burials = append(m.burials, b)
		return effects
	})
	return []machine.Effect{machine.List{Epoch: m.epoch, Ask: ask, Path: h.run.bucket.path}}
}

func nameOf(path string) string {
	_, name := znode.Split(path)
	return name
}

// forgetHome has the part of the room to which is given back read again.
func (m *Machine) forgetHome() {
	part, _ := m.room.Home()
	m.room.Forget(part)
}
