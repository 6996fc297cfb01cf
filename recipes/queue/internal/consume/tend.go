package consume

import (
	"github.com/troupe-go/troupe/machine"
)

// tend moves what is due to the end of its lane. It returns when the next item is due; 0: none is.
func (m *Machine) tend() (next int64) {
	l := &m.later
	if !m.line.first() || m.view.buckets == nil || m.closing {
		return 0
	}
	t := l.at(m.clock.now, m.view.buckets)
	for _, b := range t.need {
		m.once(machine.List{Path: m.cfg.Root.Bucket(b), Watch: true}, key{scanning, b.Name()})
	}
	for _, b := range t.empty {
		m.once(machine.Transact{Ops: []machine.Op{
			{Do: machine.Delete, Path: m.cfg.Root.Bucket(b), Version: machine.Any},
		}}, key{clearing, b.Name()})
	}
	l.take(t.due)
	for _, d := range l.moving {
		if !d.read {
			m.once(machine.Read{Path: d.path}, key{fetching, d.path})
		}
	}
	if !l.tail.Known() {
		m.view.buckets = nil
		m.once(machine.List{Path: m.cfg.Root.Work(), Watch: true}, key{purpose: looking})
	} else if ops := l.move(); ops != nil {
		m.requests.Ask(machine.Transact{Ops: ops}, key{purpose: moving})
	}
	return t.next
}

func (m *Machine) onFetched(ev machine.Seen) {
	l := &m.later
	for _, d := range l.moving {
		switch {
		case d.path != ev.Path:
			continue
		case ev.Code != machine.Done:
			l.passed[d.path] = true
			l.drop(d)
			m.skipForNow(ev.Path, ev.Err)
		case !ev.Exists:
			l.drop(d)
		default:
			d.data, d.read = ev.Data, true
		}
		break
	}
	if len(l.moving) == 0 {
		l.moving = nil
	}
}

func (m *Machine) onMoved(ev machine.Transacted) {
	if m.later.parts == nil {
		return // it was sent when this consumer was first in line for another time
	}
	m.later.moved(ev)
	if ev.Code == machine.Refused {
		m.skipForNow(m.cfg.Root.Work(), ev.Err)
	}
}

// skipForNow reports what is passed over, and tries it again later.
func (m *Machine) skipForNow(path string, err error) {
	m.requests.Emit(Skipped{Path: path, Err: err})
	if !m.busy(retrying) {
		m.retries++
		m.requests.Ask(machine.Wake{Try: m.retries}, key{purpose: retrying})
	}
}
