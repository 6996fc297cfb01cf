package take

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// inspectAll looks what became of a settlement whose answer was lost.
func (m *Machine) inspectAll(s *settlement) []machine.Effect {
	left := 0
	known := func() {
		if left--; left == 0 {
			m.settle = nil
		}
	}
	var effects []machine.Effect
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
func (m *Machine) inspect(h *held, known func()) []machine.Effect {
	path := h.pick.path
	if h.how != Ack {
		path = h.run.path
	}
	h.doubt = true
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		known()
		h.doubt = false
		switch s := ev.(machine.Seen); {
		case s.Code != machine.Done:
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
	return []machine.Effect{machine.Read{Epoch: m.epoch, Ask: ask, Path: path}}
}

// clearDoubts looks what became of items whose settlement's answer was lost with their epoch. One
// that is there was not acknowledged. One that is gone was, by this claim or by the next: nobody
// can tell.
func (m *Machine) clearDoubts() []machine.Effect {
	var effects []machine.Effect
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
		ask := m.ask(func(ev machine.Event) []machine.Effect {
			m.doubts = remove(m.doubts, h)
			switch s := ev.(machine.Seen); {
			case s.Code != machine.Done:
				return []machine.Effect{Settled{No: h.no, Err: s.Err}}
			case s.Exists:
				return []machine.Effect{Settled{No: h.no, Err: ErrLost}}
			}
			return []machine.Effect{Settled{No: h.no, Err: ErrUnknown}}
		})
		effects = append(effects, machine.Read{Epoch: m.epoch, Ask: ask, Path: h.pick.path})
	}
	return effects
}

// clearSpan looks for an item that lay in a span.
func (m *Machine) clearSpan(h *held) machine.Effect {
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		m.doubts = remove(m.doubts, h)
		l := ev.(machine.Listed)
		if l.Code != machine.Done && l.Code != machine.NoNode {
			return []machine.Effect{Settled{No: h.no, Err: l.Err}}
		}
		for _, name := range l.Names {
			if p, ok := place.ParsePack(name, h.pick.bucket.at.Lane); ok {
				if _, here := p.Has(h.pick.entry.GUID); here {
					return []machine.Effect{Settled{No: h.no, Err: ErrLost}}
				}
			}
		}
		return []machine.Effect{Settled{No: h.no, Err: ErrUnknown}}
	})
	return machine.List{Epoch: m.epoch, Ask: ask, Path: h.pick.bucket.path}
}
