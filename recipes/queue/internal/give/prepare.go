package give

import (
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// next asks for what is missing before the next transaction, or sends it.
func (m *Machine) next() []machine.Effect {
	if m.stopped || m.pausing {
		return nil
	}
	var effects []machine.Effect
	if m.idle != 0 && len(m.jobs) > 0 {
		m.asks.Drop(m.idle)
		effects = append(effects, machine.Cancel{Ask: m.idle})
		m.idle = 0
	}
	switch {
	case len(m.jobs) == 0:
		return append(effects, m.rest()...)
	case m.epoch == 0 || m.asks.Len() > 0:
		return effects
	}
	return append(effects, m.prepare()...)
}

func (m *Machine) prepare() []machine.Effect {
	flat := m.cfg.Site.Flat != ""
	switch {
	case !m.listed && !flat:
		return m.list()
	case !m.exists:
		return m.ensure(m.base(), !flat, func() { m.exists = true })
	case m.doubtful(): // before the receipt is made, perhaps anew: one that is gone tells nothing
		return m.readReceipt()
	case m.puts() && !m.receipt.made:
		return m.ensure(m.cfg.Site.Receipt(m.cfg.GUID), true, func() { m.receipt.made = true })
	case m.puts() && !m.receipt.known && m.receipt.version > 0:
		return m.readReceipt()
	case m.bounded && !flat && m.limit == 0:
		return m.readCapacity()
	case m.bounded && len(m.room.Unknown()) > 0:
		return m.readRoom()
	case m.untimed():
		return m.readClock()
	}
	return m.send()
}

// base is the znode that the items' buckets lie under, or in another layout the items themselves.
func (m *Machine) base() string {
	if m.cfg.Site.Flat != "" {
		return m.cfg.Site.Flat
	}
	return string(m.cfg.Site.Root)
}

// rest is what to do without a wish: end, at once if that is asked, else after a while.
func (m *Machine) rest() []machine.Effect {
	switch {
	case m.closing:
		m.stopped = true
		return []machine.Effect{machine.Stop{}}
	case m.cfg.Idle > 0 && m.idle == 0 && m.asks.Len() == 0:
		m.idle = m.ask(func(machine.Event) []machine.Effect {
			m.idle, m.closing = 0, true
			return nil
		})
		return []machine.Effect{machine.Wake{Ask: m.idle, After: m.cfg.Idle}}
	}
	return nil
}

// refused waits before it tries again what may pass: a right that somebody takes away may come
// back. With a wish to answer, that is answered.
func (m *Machine) refused(err error) []machine.Effect {
	var effects []machine.Effect
	for _, j := range slices.Clone(m.jobs) {
		if !j.doubt {
			effects = append(effects, m.settle(j, err)...)
		}
	}
	if len(m.jobs) == 0 {
		return effects
	}
	m.tries++
	m.pausing = true
	ask := m.ask(func(machine.Event) []machine.Effect {
		m.pausing = false
		return nil
	})
	return append(effects, machine.Wake{Ask: ask, Try: m.tries})
}

func (m *Machine) list() []machine.Effect {
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		l := ev.(machine.Listed)
		switch l.Code {
		case machine.Done:
			m.exists = true
		case machine.NoNode:
			m.exists = false
		default:
			return m.refused(l.Err)
		}
		m.listed, m.tries = true, 0
		m.top = tops(l.Names)
		for _, n := range m.lanes {
			n.look(m.top)
		}
		if m.bounded = m.cfg.Capacity > 0 || slices.Contains(l.Names, place.RoomName); !m.bounded {
			m.limit = 0
		}
		return nil
	})
	return []machine.Effect{machine.List{Epoch: m.epoch, Ask: ask, Path: string(m.cfg.Site.Root)}}
}

// ensure makes a znode: a container, unless others may stumble over one that goes when it is empty.
func (m *Machine) ensure(path string, container bool, made func()) []machine.Effect {
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		if e := ev.(machine.Ensured); e.Code != machine.Done {
			return m.refused(e.Err)
		}
		m.tries = 0
		made()
		return nil
	})
	return []machine.Effect{machine.Ensure{Epoch: m.epoch, Ask: ask, Path: path, Container: container}}
}

// readReceipt tells which wishes in doubt were carried out. One that was not is carried out now: if
// the lost transaction turns up after all, one of the two finds the receipt changed.
func (m *Machine) readReceipt() []machine.Effect {
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		s := ev.(machine.Seen)
		if s.Code != machine.Done {
			return m.refused(s.Err)
		}
		m.tries = 0
		var effects []machine.Effect
		carried := strings.Fields(string(s.Data))
		for _, j := range slices.Clone(m.jobs) {
			switch {
			case j.move:
			case slices.Contains(carried, strconv.FormatUint(j.no, 10)): // in doubt or not: one that was told again may have been on its way
				effects = append(effects, m.settle(j, nil)...)
			case !j.doubt:
			case !s.Exists || s.Stat.Version < m.receipt.version: // the server has deleted it meanwhile
				effects = append(effects, m.settle(j, ErrUnknown)...)
			default:
				j.doubt = false
			}
		}
		m.receipt.known, m.receipt.version = s.Exists, s.Stat.Version
		m.receipt.made = s.Exists
		return effects
	})
	return []machine.Effect{machine.Read{Epoch: m.epoch, Ask: ask, Path: m.cfg.Site.Receipt(m.cfg.GUID)}}
}

// readCapacity tells how many items the queue may have, and gives it its room if it has none yet.
func (m *Machine) readCapacity() []machine.Effect {
	root := m.cfg.Site.Root
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		s := ev.(machine.Seen)
		if s.Code != machine.Done {
			return m.refused(s.Err)
		}
		if !s.Exists {
			return m.makeRoom()
		}
		limit, err := strconv.Atoi(string(s.Data))
		if err != nil || limit < 1 || m.cfg.Capacity > 0 && m.cfg.Capacity != limit {
			return m.refused(ErrCapacity)
		}
		m.limit = limit
		return nil
	})
	return []machine.Effect{machine.Read{Epoch: m.epoch, Ask: ask, Path: root.Room()}}
}

// makeRoom gives the queue its room, or finds that somebody has. A queue in which items lie already
// can't be given any: nobody has counted them.
func (m *Machine) makeRoom() []machine.Effect {
	if m.cfg.Capacity == 0 {
		m.listed = false // it was there when the queue was listed
		return nil
	}
	if len(m.top) > 0 {
		return m.refused(ErrCapacity)
	}
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		if t := ev.(machine.Transacted); t.Code == machine.Refused {
			return m.refused(t.Err)
		} else if t.Code == machine.NoNode {
			m.exists = false
		}
		return nil // made, by whomever, or unknown: it is read
	})
	return []machine.Effect{machine.Transact{Epoch: m.epoch, Ask: ask, Ops: room.Make(m.cfg.Site.Root, m.cfg.Capacity)}}
}

func (m *Machine) readRoom() []machine.Effect {
	var effects []machine.Effect
	for _, i := range m.room.Unknown() {
		ask := m.ask(func(ev machine.Event) []machine.Effect {
			s := ev.(machine.Seen)
			switch {
			case s.Code != machine.Done:
				return m.refused(s.Err)
			case !s.Exists:
				return m.refused(ErrCapacity)
			}
			m.room.Saw(i, s.Data, s.Stat.Version)
			return nil
		})
		effects = append(effects, machine.Read{Epoch: m.epoch, Ask: ask, Path: m.cfg.Site.Root.Stripe(i)})
	}
	return effects
}

// untimed: the first delayed item came behind the question for the clock, or that is not answered.
func (m *Machine) untimed() bool {
	first := slices.IndexFunc(m.jobs, (*job).delayed)
	return first >= 0 && (m.clock == 0 || !m.jobs[first].timed)
}

func (j *job) delayed() bool { return j.items[0].Delay > 0 }

// readClock asks the servers for the time: what they write is stamped by their leader. It is the
// beginning of the delays of those who wait by now; whoever comes later would be early by it.
func (m *Machine) readClock() []machine.Effect {
	for _, j := range m.jobs {
		j.timed = true
	}
	path := m.cfg.Site.Root.Clock()
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		switch t := ev.(machine.Transacted); t.Code {
		case machine.Done:
			m.clock = t.Results[0].Stat.Mtime
		case machine.NoNode:
			return m.ensure(path, false, func() {})
		case machine.Refused:
			return m.refused(t.Err)
		}
		return nil
	})
	return []machine.Effect{machine.Transact{Epoch: m.epoch, Ask: ask, Ops: []machine.Op{{Do: machine.Set, Path: path, Version: machine.Any}}}}
}
