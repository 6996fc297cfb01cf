package solo

import (
	"slices"

	"github.com/troupe-go/troupe/internal/machine"
)

// publish says where the instance stands, if that has changed. It goes before the step's other
// effects, as in package contend.
func (m *Machine) publish() {
	s := m.standing()
	if s != m.published {
		m.published = s
		m.out = slices.Insert(m.out, 0, machine.Effect(machine.Publish{Standing: s}))
	}
}

func (m *Machine) standing() machine.Standing {
	s := machine.Standing{Phase: machine.Offering}
	switch {
	case len(m.claims) == 0:
		return machine.Standing{Phase: machine.Idle} // that nothing is wanted is known without ZooKeeper
	case m.state == Looking, m.state == Waiting:
		s.Phase, s.Ahead = machine.Waiting, 1
	case m.state == Holding:
		s.Phase = machine.Holding
	case m.state.placed():
		s.Phase = machine.Determining
	}
	s.Stale = m.epoch == 0 || m.suspended || !m.trusted || m.deferred
	return s
}
