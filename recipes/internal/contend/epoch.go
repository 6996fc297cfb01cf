package contend

import "github.com/troupe-go/troupe/machine"

// session is the state of the current ZooKeeper session.
type session struct {
	id        int64
	suspended bool
	trusted   bool
	refused   bool // the host deferred a grant although the session was trusted; until trust, the connection or the znode changes
}

// saw records an event. lifts tells whether a grant that the host deferred may be tried again.
// After Resumed it may: a strict session defers while it is suspended, and its trust does not
// change.
func (s *session) saw(ev machine.Event) (lifts bool) {
	switch ev.(type) {
	case machine.TrustEnded:
		s.trusted = false
	case machine.TrustGained:
		s.trusted, lifts = true, true
	case machine.Suspended:
		s.suspended = true
	case machine.Resumed:
		s.suspended, lifts = false, true
	}
	return lifts
}

func (m *Machine) onEpochBegan(e machine.EpochBegan) {
	if m.requests.Epoch() != 0 {
		m.expire()
	}
	m.requests.Begin(e.Epoch)
	m.session = session{id: e.SessionID, trusted: e.Trusted}
	m.enterAnew()
}

// expire forgets everything that belongs to the epoch. Claims remain.
func (m *Machine) expire() {
	if m.possessed() {
		m.requests.Emit(machine.End{Claim: m.claims[0].id, Cause: machine.EndExpired})
		m.rotate()
	}
	m.requests.Emit(m.replaced.whenGone...)
	m.requests.Emit(m.entry.whenGone...)
	m.replaced = entry{}
	m.dropOwn()
	m.blockers = 0
	m.requests.End()
	m.session = session{}
	m.watches.all = nil
	m.strategy.forget()
	m.state = Out
}

// retry tries a grant again that the host deferred, or that waited for the record.
func (m *Machine) retry() {
	m.session.refused = false
	if m.delay != nil {
		m.delay.asked = false
	}
	if m.state == Ready {
		m.strategy.confirm()
	}
}
