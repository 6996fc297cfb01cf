package consume

import (
	"strconv"

	"github.com/troupe-go/troupe/machine"
)

func (m *Machine) onWish(ev machine.Event) {
	if no, about := subject(ev); about && no <= m.cfg.First {
		return
	}
	switch ev := ev.(type) {
	case Demand:
		if ev.Incarnation == m.cfg.Incarnation {
			m.window.total = ev.Total
		}
	case Received:
		if i := m.items[ev.No]; m.cfg.Auto {
			m.window.out--
			m.window.received++
		} else if i != nil && !i.taken {
			i.taken = true
			m.window.received++
		}
	case Settle:
		m.onSettle(ev)
	case Unheld:
		m.onUnheld(ev)
	case Over:
		if i := m.items[ev.No]; i != nil && i.how == 0 {
			m.back(i, i.back())
		}
	case Extend:
		if i := m.items[ev.No]; i != nil && i.how == 0 {
			m.expire(i, ev.After)
		}
	}
}

// subject is the number of the item that a wish is about, if it is about one.
func subject(ev machine.Event) (no uint64, about bool) {
	switch ev := ev.(type) {
	case Received:
		return ev.No, true
	case Settle:
		return ev.No, true
	case Unheld:
		return ev.No, true
	case Over:
		return ev.No, true
	case Extend:
		return ev.No, true
	}
	return 0, false
}

// expire has an item go back if it is not settled within some milliseconds.
func (m *Machine) expire(i *item, within int64) {
	first := min(max(within, 1), longest)
	i.rest = max(within-first, 0)
	m.requests.Ask(machine.Wake{After: first}, key{expiring, number(i.no)})
}

func (m *Machine) onExpired(no uint64) {
	i := m.items[no]
	switch {
	case i == nil, i.how != 0:
	case i.rest > 0:
		m.expire(i, i.rest)
	default:
		m.requests.Emit(Dropped{No: no, Cause: ErrOverdue})
		m.back(i, i.back())
	}
}

func (m *Machine) onUnheld(ev Unheld) {
	i := m.items[ev.No]
	if i == nil || i.how != 0 {
		return
	}
	delete(m.items, i.no)
	m.requests.Cancel(key{expiring, number(i.no)})
	i.no, i.taken = 0, false
	m.window.delivered--
	if i.gains < m.gains { // it is trusted again, and nobody tells that twice
		m.handOut()
		return
	}
	m.untrusted = true
}

func (m *Machine) onSettle(ev Settle) {
	i := m.items[ev.No]
	if i == nil || i.how != 0 { // given up before: whoever asked is answered, and nothing is changed
		m.requests.Emit(Settled{No: ev.No, Err: ErrLost})
		return
	}
	i.how, i.after, i.told = ev.How, ev.After, true
	m.requests.Cancel(key{expiring, number(ev.No)})
}

// back has an item go back that nobody settles any more. A settlement that comes later is too late.
func (m *Machine) back(i *item, how How) {
	i.how = how
	delete(m.items, i.no)
	m.requests.Cancel(key{expiring, number(i.no)})
}

func (m *Machine) onWoke(k key) {
	switch k.purpose {
	case waiting:
		m.clock.alarm, m.clock.asked = 0, true
	case retrying:
		for _, c := range m.claims {
			c.foreign = c.foreign && c.strange
		}
		clear(m.later.passed)
	case idling:
		m.close()
	case resting:
		m.rested()
	case grieving:
		m.graves.refused = false
	case judging:
		m.window.quick = false
		if _, ahead := m.unsettled(); ahead > 0 && m.cfg.Stream {
			m.window.lay()
		}
	case expiring:
		no, _ := strconv.ParseUint(k.at, 10, 64) // as it was asked for
		m.onExpired(no)
	}
}

// back is how an item goes back by itself: it was an attempt if somebody has received it.
func (i *item) back() How {
	if i.taken {
		return Nack
	}
	return Return
}

// close has everything go back that is not settled, and that nobody wishes to settle.
func (m *Machine) close() {
	m.closing = true
	for _, c := range m.claims {
		for _, i := range c.items {
			if i.how != 0 {
				continue
			}
			if i.no != 0 && m.items[i.no] != nil {
				m.requests.Emit(Dropped{No: i.no, Cause: ErrClosing})
			}
			m.back(i, i.back())
		}
	}
}
