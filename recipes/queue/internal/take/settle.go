package take

import (
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// settlement is a transaction that settles items.
type settlement struct {
	items []*held
	ops   []recipe.Op
	of    []*held
	gives []room.Use
}

// onSettle takes in that an item is done with.
func (m *Machine) onSettle(ev Settle) []recipe.Effect {
	h := m.held[ev.No]
	switch {
	case h == nil:
		return []recipe.Effect{Settled{No: ev.No, Err: ErrLost}}
	case h.how != 0:
		return nil // it is on its way
	case h.claim == "":
		if ev.How == Return {
			m.backs = append(m.backs, h.pick)
		}
		return append(m.forget(h), Settled{No: h.no})
	}
	h.how = ev.How
	effects := m.unlimit(h)
	if ev.How == Nack && m.overtried(int(h.version)) {
		m.burials = append(m.burials, &burial{pick: h.pick, held: h})
		return effects
	}
	m.settling = append(m.settling, h)
	return effects
}

// sendSettled settles, in one transaction, what waits for it.
func (m *Machine) sendSettled() []recipe.Effect {
	if m.settle != nil || len(m.settling) == 0 {
		return nil
	}
	if m.cfg.Site.Flat == "" && !m.root.listed {
		return nil // whether the queue is bounded is not known
	}
	if m.bounded {
		if ask, known := m.askHome(); !known {
			return ask
		}
	}
	n := min(most, len(m.settling))
	s := &settlement{items: m.settling[:n:n]}
	m.settling = m.settling[n:]
	acks := 0
	for _, h := range s.items {
		for _, op := range m.settleOne(h) {
			s.ops, s.of = append(s.ops, op), append(s.of, h)
		}
		if h.how == Ack {
			acks++
		}
	}
	if m.bounded && acks > 0 {
		u := m.room.Give(acks)
		s.gives = []room.Use{u}
		s.ops, s.of = append(s.ops, u.Op), append(s.of, nil)
	}
	m.settle = s
	ask := m.ask(func(ev recipe.Event) []recipe.Effect { return m.settled(s, ev.(recipe.Transacted)) })
	return []recipe.Effect{recipe.Transact{Epoch: m.epoch, Ask: ask, Ops: s.ops}}
}

// settleOne are the operations that settle one item. Each holds only for the owner of this claim: the item's version is its, and so is the claim's name.
func (m *Machine) settleOne(h *held) []recipe.Op {
	p := h.pick
	claim := recipe.Op{Do: recipe.Delete, Path: h.claim, Version: recipe.Any}
	if h.how != Ack {
		return []recipe.Op{{Do: recipe.Check, Path: p.path, Version: h.version}, claim}
	}
	ops := []recipe.Op{{Do: recipe.Delete, Path: p.path, Version: h.version}, claim}
	if p.entry.ID != "" && m.cfg.Site.Flat == "" && !p.entry.orphan {
		ops = append(ops, recipe.Op{Do: recipe.Delete, Path: m.cfg.Site.Root.ID(p.entry.ID), Version: recipe.Any})
	}
	return ops
}

// settled takes in what became of it.
func (m *Machine) settled(s *settlement, t recipe.Transacted) []recipe.Effect {
	m.settle = nil
	switch t.Code {
	case recipe.Done:
		for _, u := range s.gives {
			m.room.Used(u)
		}
		var effects []recipe.Effect
		for _, h := range s.items {
			effects = append(effects, m.finish(h, nil)...)
		}
		return effects
	case recipe.Unknown:
		m.room.ForgetAll()
		m.settle = s // until it is known
		var effects []recipe.Effect
		left := len(s.items)
		for _, h := range s.items {
			effects = append(effects, m.inspect(h, func() {
				if left--; left == 0 {
					m.settle = nil
				}
			})...)
		}
		return effects
	}
	if t.Failed < 0 || t.Failed >= len(s.of) || t.Code == recipe.Refused {
		var effects []recipe.Effect
		for _, h := range s.items {
			effects = append(effects, m.finish(h, t.Err)...)
		}
		return effects
	}
	h, path := s.of[t.Failed], s.ops[t.Failed].Path
	if h == nil {
		m.room.Forget(s.gives[0].Part)
		m.settling = append(s.items, m.settling...)
		return nil
	}
	var effects []recipe.Effect
	if path == h.pick.path || path == h.claim {
		effects = m.finish(h, ErrLost)
		m.settling = append(remove(s.items, h), m.settling...)
	} else { // only its id is gone
		h.pick.entry.orphan = true
		m.settling = append(s.items, m.settling...)
	}
	return effects
}

// finish answers a Settle.
func (m *Machine) finish(h *held, err error) []recipe.Effect {
	if h.how != Ack || err != nil {
		h.pick.bucket.stale = true
	}
	var effects []recipe.Effect
	if err != nil {
		effects = m.letGo(h)
	} else {
		effects = m.forget(h)
	}
	return append(effects, Settled{No: h.no, Err: err})
}

// inspect looks what became of an item whose settlement's answer was lost, while its claim is in force: who else could have deleted it?
func (m *Machine) inspect(h *held, known func()) []recipe.Effect {
	path := h.pick.path
	if h.how != Ack {
		path = h.claim
	}
	h.doubt = true
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		known()
		h.doubt = false
		switch s := ev.(recipe.Seen); {
		case s.Code != recipe.Done:
			return m.finish(h, s.Err)
		case !s.Exists:
			return m.finish(h, nil)
		case h.how == Ack && s.Stat.Version != h.version:
			return m.finish(h, ErrLost)
		}
		m.settling = append(m.settling, h)
		return nil
	})
	return []recipe.Effect{recipe.Read{Epoch: m.epoch, Ask: ask, Path: path}}
}

// clearDoubts looks what became of items whose settlement's answer was lost with their epoch. One that is there was not acknowledged. One that is gone was,
// by this claim or by the next: nobody can tell.
func (m *Machine) clearDoubts() []recipe.Effect {
	var effects []recipe.Effect
	for _, h := range m.doubts {
		if h.how != Ack { // its claim is gone in any case
			effects = append(effects, Settled{No: h.no})
			m.doubts = remove(m.doubts, h)
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

func remove(items []*held, h *held) []*held {
	var rest []*held
	for _, g := range items {
		if g != h {
			rest = append(rest, g)
		}
	}
	return rest
}
