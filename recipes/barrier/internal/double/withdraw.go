package double

import "github.com/troupe-go/troupe/machine"

// turnedAway: this party is not in, and knows why.
func (m *Machine) turnedAway(why error) {
	own := m.own()
	m.fail(why)
	m.state = Clearing
	m.main = m.next()
	m.emit(machine.Remove{Epoch: m.epoch, Ask: m.main, Path: own})
}

// onRemoved: the own znode is gone. What is left of the round goes with the last one; while others
// stand in it, the transaction comes to nothing.
func (m *Machine) onRemoved() {
	if m.closing || m.stay != nil {
		m.stay = nil
		m.proceed()
		return
	}
	round := m.roundPath()
	m.round = 0
	m.transact(razing(round, nil)...)
}

// withdraw gives the place up, unless the verdict is first.
func (m *Machine) withdraw() {
	m.state = Withdrawing
	m.transact(machine.Op{Do: machine.Check, Path: m.roundPath(), Version: m.version}, deletion(m.own()))
}

func (m *Machine) onWithdrawn(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done, machine.NoNode:
		m.proceed()
	case machine.BadVersion:
		m.overtaken()
	case machine.Unknown:
		m.place.doubtful = true
		m.withdraw()
	default:
		m.emit(machine.Stop{Err: ev.Err})
	}
}

// overtaken: the verdict was before the withdrawal, or before its repetition; then the first may
// have been carried out, and the verdict is not about this party.
func (m *Machine) overtaken() {
	if m.place.doubtful {
		m.check(m.place.rank)
		return
	}
	m.reread(true)
}
