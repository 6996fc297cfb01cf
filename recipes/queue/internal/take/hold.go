package take

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// held is an item that was taken.
type held struct {
	no      uint64
	pick    *pick
	run     *run  // that its claim is of; nil with AutoAck
	span    *span // that it lies in; nil: it has a znode of its own
	version int32 // of the item, by this claim
	token   int64

	parked bool   // it could not be delivered for want of trust
	how    How    // it is to be settled
	lost   bool   // it goes back because its possession is over, not because the face settles it: to a Settle that follows, it is lost
	doubt  bool   // it may be settled: the answer was lost
	timer  uint64 // the ask of the timer that ends it
	gone   bool
}

// lookAfter is after how many milliseconds a claim is watched: most items are settled before.
const lookAfter = 100

// hold takes in that items are claimed.
func (m *Machine) hold(c *claim, token int64) []machine.Effect {
	var effects []machine.Effect
	for _, r := range c.runs {
		m.runs[r.path] = r
		for _, h := range r.items {
			m.items++
			m.delivered++
			h.no, h.token = m.items, token
			m.held[h.no] = h
			if m.closing {
				effects = append(effects, m.letGo(h)...)
				continue
			}
			effects = append(effects, m.deliver(h))
			if m.cfg.Visibility > 0 {
				effects = append(effects, m.limit(h, m.cfg.Visibility))
			}
		}
	}
	if !m.watching {
		m.watching = true
		ask := m.ask(func(machine.Event) []machine.Effect { return m.watchRuns() })
		effects = append(effects, machine.Wake{Ask: ask, After: lookAfter})
	}
	return effects
}

func (m *Machine) deliver(h *held) machine.Effect {
	h.parked = false
	p := h.pick
	claim := ""
	if h.run != nil {
		claim = h.run.path
	}
	return Deliver{
		No: h.no, Turn: m.turn, Epoch: m.epoch, Claim: claim, Token: h.token,
		ID: m.known(p), Data: p.data, Priority: p.entry.Priority, Attempt: p.attempts() + 1,
	}
}

// known is the id by which the application knows an item; in another layout, its name.
func (m *Machine) known(p *pick) string {
	if m.cfg.Site.Flat != "" {
		return p.entry.name
	}
	return p.entry.Known()
}

// limit ends an item's possession after a while.
func (m *Machine) limit(h *held, after int64) machine.Effect {
	h.timer = m.ask(func(machine.Event) []machine.Effect {
		h.timer = 0
		if h.gone || h.how != 0 {
			return nil // an answer is on its way
		}
		return append([]machine.Effect{Drop{No: h.no, Cause: ErrOverdue}}, m.letGo(h)...)
	})
	return machine.Wake{Ask: h.timer, After: after}
}

// onExtend lets an item's time run anew.
func (m *Machine) onExtend(ev Extend) []machine.Effect {
	h := m.held[ev.No]
	if h == nil || h.how != 0 {
		return nil
	}
	effects := m.unlimit(h)
	return append(effects, m.limit(h, ev.After))
}

func (m *Machine) unlimit(h *held) []machine.Effect {
	if h.timer == 0 {
		return nil
	}
	ask := h.timer
	m.asks.Drop(ask)
	h.timer = 0
	return []machine.Effect{machine.Cancel{Ask: ask}}
}

// forget takes an item off. Its claim goes with the last item under it.
func (m *Machine) forget(h *held) []machine.Effect {
	h.gone = true
	delete(m.held, h.no)
	return append(m.unlimit(h), m.leave(h)...)
}

// answer says what came of a Settle. Nobody waits for what came of an item that went back by
// itself: whoever would settle it by then has been told ErrLost.
func (h *held) answer(err error) []machine.Effect {
	if h.lost {
		return nil
	}
	return []machine.Effect{Settled{No: h.no, Err: err}}
}

// letGo gives an item back that was lost here, so that it is delivered again.
func (m *Machine) letGo(h *held) []machine.Effect {
	if h.run == nil || m.epoch == 0 || h.span != nil && h.span.lost {
		return m.forget(h)
	}
	h.how, h.lost = Return, true
	effects := m.unlimit(h)
	m.settling = append(m.settling, h)
	return effects
}

// close takes nothing more, and gives back what was claimed and is not being settled.
func (m *Machine) close() []machine.Effect {
	m.closing = true
	var effects []machine.Effect
	for _, h := range m.inTurn() {
		if h.run != nil && h.how == 0 {
			effects = append(effects, Drop{No: h.no, Cause: ErrClosing})
			effects = append(effects, m.letGo(h)...)
		}
	}
	return effects
}

// onOver takes in that the possession was lost.
func (m *Machine) onOver(ev Over) []machine.Effect {
	h := m.held[ev.No]
	if h == nil || h.how != 0 {
		return nil // what is being settled is settled, or turns out to be lost
	}
	return m.letGo(h)
}

// onUnheld takes in that an item can't be had yet.
func (m *Machine) onUnheld(ev Unheld) []machine.Effect {
	h := m.held[ev.No]
	if h == nil || h.lost {
		return []machine.Effect{Lost{No: ev.No}}
	}
	if ev.Turn != m.turn { // what it was to wait for has come meanwhile
		return []machine.Effect{m.deliver(h)}
	}
	h.parked = true
	return nil
}

// unpark delivers what could not be.
func (m *Machine) unpark() []machine.Effect {
	m.turn++
	var effects []machine.Effect
	for _, h := range m.inTurn() {
		if h.parked && h.how == 0 {
			effects = append(effects, m.deliver(h))
		}
	}
	return effects
}

// inTurn are the items that are held, in the order in which they were taken.
func (m *Machine) inTurn() []*held {
	all := make([]*held, 0, len(m.held))
	for _, h := range m.held {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b *held) int { return int(int64(a.no - b.no)) })
	return all
}

// loseHeld takes in the end of an epoch: no claim stands any more. What was being settled is looked
// at in the next epoch.
func (m *Machine) loseHeld() []machine.Effect {
	m.watching = false
	var effects []machine.Effect
	sent := make(map[*held]bool)
	if m.settle != nil {
		for _, h := range m.settle.items {
			sent[h] = true
		}
	}
	for _, h := range m.inTurn() {
		switch {
		case h.run == nil:
			continue // it was taken for good
		case sent[h] || h.doubt:
			m.doubts = append(m.doubts, h)
		case h.how != 0:
			effects = append(effects, h.answer(ErrLost)...)
		case h.parked:
			effects = append(effects, Lost{No: h.no})
		}
		effects = append(effects, m.forget(h)...)
	}
	m.settling, m.settle = nil, nil
	clear(m.runs)
	return effects
}
