package take

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
)

// later is what is known of the delayed items. Time is the servers': what they write is stamped by
// their leader, and between two looks at that the own timers run, of which only the rate matters.
type later struct {
	now    int64 // it is not earlier than this; 0: not known
	asked  bool
	alarm  uint64 // the ask of the timer that runs
	at     int64  // when that goes off
	moving map[string]bool
}

// promote moves what is due into line, and sets a timer for what will be.
func (m *Machine) promote() []machine.Effect {
	l := &m.later
	if l.asked || m.closing || !m.root.listed {
		return nil
	}
	first := slices.IndexFunc(m.order, func(b *bucket) bool { return b.at.Lane.Later })
	if first < 0 {
		return nil
	}
	if l.now == 0 {
		return m.askClock()
	}
	var effects []machine.Effect
	next := int64(0)
	note := func(t int64) {
		if next == 0 || t < next {
			next = t
		}
	}
	for _, b := range m.order[first:] {
		if b.at.Lane.Slot > l.now {
			note(b.at.Lane.Slot)
			break
		}
		if !b.listed || b.dirty || b.stale {
			effects = append(effects, m.list(b)...)
			continue
		}
		for _, e := range b.free {
			if e.Due > l.now {
				note(e.Due)
			} else if len(l.moving) < most {
				effects = append(effects, m.move(b, e)...)
			}
		}
	}
	return append(effects, m.wakeAt(next)...)
}

// wakeAt sets the timer. For an earlier time than the one that runs, the clock is read first: how
// much of that has passed is not known.
func (m *Machine) wakeAt(t int64) []machine.Effect {
	l := &m.later
	switch {
	case t == 0 || l.alarm != 0 && t >= l.at:
		return nil
	case l.alarm != 0:
		ask := l.alarm
		m.asks.Drop(ask)
		l.alarm = 0
		return append([]machine.Effect{machine.Cancel{Ask: ask}}, m.askClock()...)
	}
	l.at = t
	l.alarm = m.ask(func(machine.Event) []machine.Effect {
		l.alarm, l.now = 0, max(l.now, l.at)
		return nil
	})
	return []machine.Effect{machine.Wake{Ask: l.alarm, After: t - l.now}}
}

func (m *Machine) askClock() []machine.Effect {
	path := m.cfg.Site.Root.Clock()
	m.later.asked = true
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		m.later.asked = false
		switch t := ev.(machine.Transacted); t.Code {
		case machine.Done:
			m.later.now = max(m.later.now, t.Results[0].Stat.Mtime)
		case machine.NoNode:
			m.later.asked = true
			made := m.ask(func(ev machine.Event) []machine.Effect {
				m.later.asked = false
				if e := ev.(machine.Ensured); e.Code != machine.Done {
					return m.fail(e.Err)
				}
				return nil
			})
			return []machine.Effect{machine.Ensure{Epoch: m.epoch, Ask: made, Path: path}}
		case machine.Refused:
			return m.fail(t.Err)
		}
		return nil
	})
	return []machine.Effect{machine.Transact{Epoch: m.epoch, Ask: ask, Ops: []machine.Op{{Do: machine.Set, Path: path, Version: machine.Any}}}}
}

// move reads an item that is due, and moves it to the end of its line: it arrives when its delay is
// over.
func (m *Machine) move(b *bucket, e *entry) []machine.Effect {
	path := znode.Join(b.path, e.name)
	if m.later.moving == nil {
		m.later.moving = make(map[string]bool)
	}
	if m.later.moving[path] {
		return nil
	}
	m.later.moving[path] = true
	over := func() {
		delete(m.later.moving, path)
		b.free = slices.DeleteFunc(b.free, func(f *entry) bool { return f.name == e.name })
	}
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		s := ev.(machine.Seen)
		if s.Code != machine.Done || !s.Exists {
			over()
			return nil
		}
		i := give.Item{GUID: e.GUID, ID: e.ID, Data: s.Data, Priority: e.Priority, Shard: int(uint32(e.Seq)) % max(m.cfg.Shards, 1)}
		return m.subs[promoter].do(i, []machine.Op{{Do: machine.Delete, Path: path, Version: s.Stat.Version}}, func(err error) []machine.Effect {
			over()
			b.dirty = true
			return nil
		})
	})
	return []machine.Effect{machine.Read{Epoch: m.epoch, Ask: ask, Path: path}}
}
