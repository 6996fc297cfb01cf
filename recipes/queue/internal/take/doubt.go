package take

import (
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// inspectAll looks what became of a settlement whose answer was lost.
func (m *Machine) inspectAll(s *settlement) []recipe.Effect {
	left := 0
	known := func() {
		if left--; left == 0 {
			m.settle = nil
		}
	}
	var effects []recipe.Effect
	for _, c := range s.cuts {
		if !c.whole {
			left++
			effects = append(effects, m.find(c, true, known)...)
			continue
		}
		for _, h := range c.items {
			left++
			effects = append(effects, m.inspect(h, known)...)
		}
	}
	for _, h := range s.items {
		if h.span == nil {
			left++
			effects = append(effects, m.inspect(h, known)...)
		}
	}
	return effects
}

// inspect looks what became of an item whose settlement's answer was lost, while its claim is in
// force: who else could have deleted it?
func (m *Machine) inspect(h *held, known func()) []recipe.Effect {
	path := h.pick.path
	if h.how != Ack {
		path = h.run.path
	}
	h.doubt = true
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		known()
		h.doubt = false
		switch s := ev.(recipe.Seen); {
		case s.Code != recipe.Done:
			return m.finish(h, s.Err)
		case h.how == Ack && !s.Exists:
			return m.finish(h, nil)
		case h.how == Ack && s.Stat.Version != h.version:
			return m.finish(h, ErrLost)
		case h.how != Ack && !s.Exists: // it was the last under its claim
			return m.finish(h, nil)
		}
		m.settling = append(m.settling, h)
		return nil
	})
	return []recipe.Effect{recipe.Read{Epoch: m.epoch, Ask: ask, Path: path}}
}

// clearDoubts looks what became of items whose settlement's answer was lost with their epoch. One
// that is there was not acknowledged. One that is gone was, by this claim or by the next: nobody
// can tell.
func (m *Machine) clearDoubts() []recipe.Effect {
	var effects []recipe.Effect
	for _, h := range m.doubts {
		if h.how != Ack { // its claim is gone in any case
			effects = append(effects, h.answer(nil)...)
			m.doubts = remove(m.doubts, h)
			continue
		}
		if h.span != nil {
			effects = append(effects, m.clearSpan(h))
			continue
		}
		ask := m.ask(func(ev recipe.Event) []recipe.Effect {
			m.doubts = remove(m.doubts, h)
			switch s := ev.(recipe.Seen); {
			case s.Code != recipe.Done:
				return []recipe.Effect{Settled{No: h.no, Err: s.Err}}
			case s.Exists:
				return []recipe.Effect{Settled{No: h.no, Err: ErrLost}}
			}
			return []recipe.Effect{Settled{No: h.no, Err: ErrUnknown}}
		})
		effects = append(effects, recipe.Read{Epoch: m.epoch, Ask: ask, Path: h.pick.path})
	}
	return effects
}

// clearSpan looks for an item that lay in a span.
func (m *Machine) clearSpan(h *held) recipe.Effect {
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		m.doubts = remove(m.doubts, h)
		l := ev.(recipe.Listed)
		if l.Code != recipe.Done && l.Code != recipe.NoNode {
			return []recipe.Effect{Settled{No: h.no, Err: l.Err}}
		}
		for _, name := range l.Names {
			if p, ok := place.ParsePack(name, h.pick.bucket.at.Lane); ok {
				if _, here := p.Has(h.pick.entry.GUID); here {
					return []recipe.Effect{Settled{No: h.no, Err: ErrLost}}
				}
			}
		}
		return []recipe.Effect{Settled{No: h.no, Err: ErrUnknown}}
	})
	return recipe.List{Epoch: m.epoch, Ask: ask, Path: h.pick.bucket.path}
}
