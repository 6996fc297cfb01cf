package solo

import "github.com/troupe-go/troupe/internal/machine"

// reading is what the machine knows of the reads of its path, each of which arms a watch if
// anything is there.
type reading struct {
	ask   uint64 // of the read under way, 0: none
	dirty bool   // it will not do: something has happened since it was asked for
}

// look reads the path and watches it. If a read is under way already, its answer will do.
func (m *Machine) look() {
	if m.read.ask == 0 {
		m.read = reading{ask: m.ask()}
		m.do(machine.Read{Epoch: m.epoch, Path: m.path, Ask: m.read.ask, Watch: true})
	}
}

// lookAnew is look for when an answer under way will not do.
func (m *Machine) lookAnew() {
	m.read.dirty = m.read.ask != 0
	m.look()
}

func (m *Machine) onSeen(e machine.Seen) {
	if m.foreign(e.Epoch) || e.Ask != m.read.ask {
		return
	}
	dirty := m.read.dirty
	m.read = reading{}
	switch {
	case m.state == Looking:
		m.onOther(e, dirty)
	case m.state.placed():
		m.onOwn(e, dirty)
	}
}

// onOther: what stands in the way was read.
func (m *Machine) onOther(e machine.Seen, dirty bool) {
	switch {
	case e.Err != nil:
		m.do(m.failures(e.Err)...)
		m.state = Idle
	case !e.Exists:
		m.create()
	case dirty:
		m.look()
	default:
		m.state = Waiting
	}
}

// onOwn: the own znode was read, or what is there in its place.
func (m *Machine) onOwn(e machine.Seen, dirty bool) {
	known := m.place.czxid
	switch {
	case dirty:
		m.look()
		return
	case e.Err != nil:
		m.unreadable(e.Err)
		return
	case !e.Exists || e.Owner != m.session || known != 0 && e.Czxid != known:
		m.lost()
		return
	}
	m.note(e)
	switch {
	case m.state == Holding:
		m.tellRevoked()
	case len(m.claims) == 0: // recovered, and nobody wants it any more
		m.leave()
	case m.state == Verifying:
		m.first()
	}
}

// onFired: something happened to what stood at the path when the watch was armed. That need not be
// what this machine knows of, so a holder reads; and an answer under way may be from before, with
// nothing armed behind it, whatever the state.
func (m *Machine) onFired(e machine.Fired) {
	if m.foreign(e.Epoch) || e.Path != m.path {
		return
	}
	m.read.dirty = m.read.ask != 0
	switch {
	case m.state == Waiting && e.Deleted:
		m.create()
	case m.state == Waiting:
		m.state = Looking
		m.look()
	case m.state.placed():
		m.look()
	}
}
