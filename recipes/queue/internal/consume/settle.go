package consume

import (
	"strconv"

	"github.com/troupe-go/troupe/machine"
)

func (m *Machine) onWish(ev machine.Event) {
	switch ev := ev.(type) {
	case Demand:
		m.window.total = ev.Total
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
			m.requests.Ask(machine.Wake{After: ev.After}, key{expiring, number(ev.No)})
		}
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
		if i := m.items[no]; i != nil && i.how == 0 {
			m.requests.Emit(Dropped{No: no, Cause: ErrOverdue})
			m.back(i, i.back())
		}
	}
}

// back is how an item goes back by itself: it was an attempt if somebody has received it.
func (i *item) back() How {
	if i.taken {
		return Nack
	}
	return Return
}

// onClosing has everything go back that is not settled, and that nobody wishes to settle.
func (m *Machine) onClosing() {
	for _, c := range m.claims {
		for _, i := range c.items {
			if i.how != 0 {
				continue
			}
			if i.no != 0 && m.items[i.no] != nil {
				m.requests.Emit(Dropped{No: i.no, Cause: ErrLost})
			}
			m.back(i, i.back())
		}
	}
}
