package contend

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// publish adds the standing, if it has changed. It goes before the step's other
// effects: a host that answers a Grant with Deferred while it carries them out publishes the later
// standing later.
func (m *Machine) publish(effects []machine.Effect) []machine.Effect {
	s := m.standing()
	if s == m.published {
		return effects
	}
	m.published = s
	return slices.Insert(effects, 0, machine.Effect(machine.Publish{Standing: s}))
}

func (m *Machine) standing() machine.Standing {
	s := machine.Standing{Phase: m.phase()}
	if s.Phase == machine.Idle {
		return s // this is known without ZooKeeper
	}
	s.Ahead = m.blockers
	s.Stale = m.requests.Epoch() == 0 || m.session.suspended || !m.session.trusted || m.session.refused
	return s
}

func (m *Machine) phase() machine.Phase {
	switch {
	case len(m.claims) == 0:
		return machine.Idle
	case m.possessed():
		return machine.Holding
	case m.state.behind(), m.state == Checking && m.blockers > 0:
		return machine.Waiting // also while the watches are set again
	case m.state.placed():
		return machine.Determining
	default:
		return machine.Offering
	}
}
