package take

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// settlement is a transaction that settles items.
type settlement struct {
	items []*held
	ops   []machine.Op
	of    []*held // of each operation; nil: a cut's, a run's, or the room's
	at    []*cut  // the same; nil: it is no cut's
	cuts  []*cut
	runs  map[*run]bool // whose items these are; true: it goes with them
	gives []room.Use
}

func (s *settlement) add(h *held, c *cut, op machine.Op) {
	s.ops, s.of, s.at = append(s.ops, op), append(s.of, h), append(s.at, c)
}

// onSettle takes in that an item is done with.
func (m *Machine) onSettle(ev Settle) []machine.Effect {
	h := m.held[ev.No]
	switch {
	case h == nil, h.lost: // the giving back may succeed: that is no answer to an acknowledgement
		return []machine.Effect{Settled{No: ev.No, Err: ErrLost}}
	case h.how != 0:
		return nil // it is on its way
	case h.run == nil:
		if ev.How == Return {
			m.backs = append(m.backs, h.pick)
		}
		return append(m.forget(h), Settled{No: h.no})
	}
	h.how = ev.How
	if h.span != nil && h.span.lost {
		return m.finish(h, ErrLost)
	}
	effects := m.unlimit(h)
	if ev.How == Nack && m.overtried(h.pick.attempts()+1) {
		m.burials = append(m.burials, &burial{pick: h.pick, held: h})
		return effects
	}
	m.settling = append(m.settling, h)
	return effects
}

// sendSettled settles, in one transaction, what waits for it.
func (m *Machine) sendSettled() []machine.Effect {
	m.settling = slices.DeleteFunc(m.settling, func(h *held) bool { return h.gone }) // a listing has told of it while it was under way
	if m.settle != nil || len(m.settling) == 0 || m.burying {                        // a burial may cut the same span
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
	n := m.together()
	s := &settlement{items: m.settling[:n:n], runs: make(map[*run]bool)}
	m.settling = m.settling[n:]
	acks := 0
	m.settleRuns(s)
	for _, h := range s.items {
		if h.span == nil {
			for _, op := range m.settleOne(s, h) {
				s.add(h, nil, op)
			}
		}
		if h.how == Ack {
			acks++
		}
	}
	for _, c := range cuts(s.items) {
		m.settleCut(s, c)
	}
	if m.bounded && acks > 0 {
		u := m.room.Give(acks)
		s.gives = []room.Use{u}
		s.add(nil, nil, u.Op)
	}
	m.settle = s
	ask := m.ask(func(ev machine.Event) []machine.Effect { return m.settled(s, ev.(machine.Transacted)) })
	return []machine.Effect{machine.Transact{Epoch: m.epoch, Ask: ask, Ops: s.ops}}
}

// together is how many of those that wait are settled in one transaction. What is left of a span
// that is cut is written anew, so that many spans, of each of which little is settled, would be
// more than a server takes.
func (m *Machine) together() int {
	n, size := 0, 0
	seen := make(map[*span]bool)
	for ; n < min(most, len(m.settling)); n++ {
		h := m.settling[n]
		if h.span == nil {
			continue
		}
		if !seen[h.span] {
			seen[h.span] = true
			size += h.span.text.size(h.span.pack)
		}
		if h.how == Ack {
			size -= len(h.pick.data)
		}
		if n > 0 && size > mostBytes {
			break
		}
	}
	return n
}

// settleRuns checks the claims that the items are under, and deletes those under which these are
// the last. Each has a name of its own: while it stands, what is under it is nobody else's.
func (m *Machine) settleRuns(s *settlement) {
	left := make(map[*run]int)
	var order []*run
	for _, h := range s.items {
		if _, seen := left[h.run]; !seen {
			left[h.run] = len(h.run.items)
			order = append(order, h.run)
		}
		left[h.run]--
	}
	for _, r := range order {
		op := machine.Op{Do: machine.Check, Path: r.path, Version: machine.Any}
		if s.runs[r] = left[r] == 0; s.runs[r] {
			op.Do = machine.Delete
		}
		s.add(nil, nil, op)
	}
}

// settleOne are the operations that settle one item. The item's version is this claim's alone.
func (m *Machine) settleOne(s *settlement, h *held) []machine.Op {
	p := h.pick
	switch {
	case h.how == Ack:
		ops := []machine.Op{{Do: machine.Delete, Path: p.path, Version: h.version}}
		if p.entry.ID != "" && m.cfg.Site.Flat == "" && !p.entry.orphan {
			ops = append(ops, machine.Op{Do: machine.Delete, Path: m.cfg.Site.Root.ID(p.entry.ID), Version: machine.Any})
		}
		return ops
	case s.runs[h.run]:
		return []machine.Op{{Do: machine.Check, Path: p.path, Version: h.version}} // it is free when the claim is gone
	default:
		return []machine.Op{
			{Do: machine.Check, Path: p.path, Version: h.version},
			{Do: machine.Create, Path: h.run.mark(h), Ephemeral: true},
		}
	}
}

// settled takes in what became of it.
func (m *Machine) settled(s *settlement, t machine.Transacted) []machine.Effect {
	m.settle = nil
	switch t.Code {
	case machine.Done:
		for _, u := range s.gives {
			m.room.Used(u)
		}
		return m.allSettled(s)
	case machine.Unknown:
		m.room.ForgetAll()
		m.settle = s // until it is known
		return m.inspectAll(s)
	}
	if t.Failed < 0 || t.Failed >= len(s.of) || t.Code == machine.Refused {
		var effects []machine.Effect
		for _, h := range s.items {
			effects = append(effects, m.finish(h, t.Err)...)
		}
		return effects
	}
	return m.unsettled(s, t)
}

// allSettled takes in that a transaction was carried out.
func (m *Machine) allSettled(s *settlement) []machine.Effect {
	var effects []machine.Effect
	for r, over := range s.runs {
		if over {
			r.gone = true
			delete(m.runs, r.path)
			r.bucket.stale = r.bucket.stale || len(r.marks) > 0
		}
	}
	for _, c := range s.cuts {
		c.carriedOut()
	}
	for _, h := range s.items {
		if h.how != Ack && !s.runs[h.run] {
			h.run.marks = append(h.run.marks, h.run.mark(h))
		}
		effects = append(effects, m.finish(h, nil)...)
		if s.runs[h.run] {
			effects = append(effects, m.unmark(h.run)...)
		}
	}
	return effects
}

// unsettled takes in that one operation failed, and nothing was done. The others are settled again
// without it.
func (m *Machine) unsettled(s *settlement, t machine.Transacted) []machine.Effect {
	h, path := s.of[t.Failed], s.ops[t.Failed].Path
	var effects []machine.Effect
	again := s.items
	switch c := s.at[t.Failed]; {
	case c != nil:
		for _, h := range c.items {
			again = remove(again, h)
		}
		effects = m.find(c, false, func() {})
	case h != nil && h.how != Ack && t.Code == machine.NodeExists: // its mark: it was settled by a transaction whose answer was lost
		h.run.marks = append(h.run.marks, path)
		effects = m.finish(h, nil)
		again = remove(again, h)
	case h != nil && (h.span == nil && path == h.pick.path || h.how != Ack):
		effects = m.finish(h, ErrLost)
		again = remove(again, h)
	case h != nil: // only its id is gone
		h.pick.entry.orphan = true
	case len(s.gives) > 0 && path == s.gives[0].Op.Path:
		m.room.Forget(s.gives[0].Part)
	default: // a claim is gone
		for r := range s.runs {
			if r.path != path {
				continue
			}
			effects = m.runDeleted(r)
			for _, h := range s.items {
				if h.run == r {
					effects = append(effects, m.finish(h, ErrLost)...)
					again = remove(again, h)
				}
			}
		}
	}
	m.settling = append(again, m.settling...)
	return effects
}

// finish answers a Settle.
func (m *Machine) finish(h *held, err error) []machine.Effect {
	if h.how != Ack || err != nil {
		h.pick.bucket.stale = true
	}
	return append(m.forget(h), h.answer(err)...)
}

// settleAgain has an item settled once more.
func (m *Machine) settleAgain(h *held) {
	if !slices.Contains(m.settling, h) {
		m.settling = append(m.settling, h)
	}
}

// settleNever ends the settlement of an item.
func (m *Machine) settleNever(h *held, err error) []machine.Effect {
	m.settling = remove(m.settling, h)
	return m.finish(h, err)
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
