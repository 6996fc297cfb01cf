package contend

import (
	"slices"

	"github.com/troupe-go/troupe/internal/machine"
)

// join puts a new znode into the line, and takes a first look right behind it.
func (m *Machine) join() {
	m.state = Joining
	m.ahead = 0
	m.look = look{ask: m.ask(), early: true}
	m.do(machine.Join{Epoch: m.epoch, Replace: m.old.path, Ask: m.look.ask})
}

// rejoin replaces a znode whose possession is over: it goes in the transaction that puts the next
// one into the line.
func (m *Machine) rejoin() {
	m.old, m.place = m.place, place{}
	m.join()
}

func (m *Machine) onJoined(e machine.Joined) {
	if m.foreign(e.Epoch) || m.state != Joining {
		return
	}
	old := m.old
	m.old = place{}
	if e.Err != nil {
		m.joinFailed(e.Err, old)
		return
	}
	m.do(old.owed...)
	m.place.at(e.Path)
	m.born(e.Czxid, e.Owner)
	if len(m.claims) == 0 {
		m.leave()
		return
	}
	m.state = Listing
	if first := m.look.answer; first != nil {
		m.look.answer = nil
		m.digest(*first)
	}
}

// joinFailed: nothing new stands, but a znode that was to be replaced may.
func (m *Machine) joinFailed(err error, old place) {
	owed := slices.Concat(m.place.owed, m.failures(err))
	m.look = look{}
	if old.path != "" {
		m.place = old
		m.place.owed = append(m.place.owed, owed...)
		m.leave()
		return
	}
	m.do(owed...)
	m.standAnew()
}

// onRecovered takes over what a crashed incarnation left: its place in the line if nothing came of
// it yet. What cannot be taken over is deleted.
func (m *Machine) onRecovered(e machine.Recovered) {
	if m.foreign(e.Epoch) {
		return
	}
	if m.state != Idle {
		m.do(machine.Leave{Epoch: m.epoch, Path: e.Path})
		return
	}
	m.place = place{}
	m.place.at(e.Path)
	m.place.marks = true
	if m.place.old = e.Spent; m.place.old {
		m.leave()
		return
	}
	m.list()
	m.watch(m.place.path)
}
