package take

import (
	"errors"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// burial is an item that has had all its attempts, on its way to the dead letters.
type burial struct {
	pick *pick
	held *held // nil: nobody has it, its last owner died with it
}

// bury moves one item at a time to the dead letters, in the transaction that takes it out of the queue.
func (m *Machine) bury() []recipe.Effect {
	if m.burying || len(m.burials) == 0 {
		return nil
	}
	if m.bounded {
		if ask, known := m.askHome(); !known {
			return ask
		}
	}
	b := m.burials[0]
	m.burials = m.burials[1:]
	if b.held != nil && b.held.gone {
		return nil
	}
	m.burying = true
	also := m.unearth(b)
	var use room.Use
	if m.bounded {
		use = m.room.Give(1)
		also = append(also, use.Op)
	}
	i := give.Item{GUID: b.pick.entry.GUID, ID: b.pick.entry.ID, Data: b.pick.data, Priority: b.pick.entry.Priority}
	return m.subs[undertaker].do(i, also, func(err error) []recipe.Effect {
		m.burying = false
		if m.bounded && err == nil {
			m.room.Used(use)
		}
		if errors.Is(err, ErrLost) {
			m.vain[b.pick.path]++
		} else {
			delete(m.vain, b.pick.path)
		}
		return m.buried(b, err)
	})
}

// vainly is after how many attempts to bury an item that is still there its id is taken to be gone.
const vainly = 3

// unearth are the operations that take it out of the queue, if nobody else has it.
func (m *Machine) unearth(b *burial) []recipe.Op {
	p := b.pick
	version := p.version
	var ops []recipe.Op
	if b.held != nil {
		version = b.held.version
		ops = append(ops, recipe.Op{Do: recipe.Check, Path: b.held.run.path, Version: recipe.Any})
	}
	ops = append(ops, recipe.Op{Do: recipe.Delete, Path: p.path, Version: version})
	if p.entry.ID != "" && m.vain[p.path] < vainly {
		ops = append(ops, recipe.Op{Do: recipe.Delete, Path: m.cfg.Site.Root.ID(p.entry.ID), Version: recipe.Any})
	}
	return ops
}

// buried takes in what became of it.
func (m *Machine) buried(b *burial, err error) []recipe.Effect {
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
		return m.finish(h, err)
	}
	// It is somebody else's, or its id is gone, or the room was another: look.
	m.forgetHome()
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		s := ev.(recipe.Seen)
		switch {
		case h.gone:
			return nil
		case s.Code != recipe.Done:
			return m.finish(h, s.Err)
		case !s.Exists && !h.run.gone: // nobody else could have taken it away: the answer to a burial was lost
			return m.finish(h, nil)
		case !s.Exists || s.Stat.Version != h.version || m.vain[b.pick.path] > 2*vainly:
			return m.finish(h, ErrLost)
		}
		m.burials = append(m.burials, b)
		return nil
	})
	return []recipe.Effect{recipe.Read{Epoch: m.epoch, Ask: ask, Path: b.pick.path}}
}

// forgetHome has the part of the room to which is given back read again.
func (m *Machine) forgetHome() {
	part, _ := m.room.Home()
	m.room.Forget(part)
}
