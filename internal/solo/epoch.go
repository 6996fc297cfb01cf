package solo

import "github.com/troupe-go/troupe/internal/machine"

func (m *Machine) onEpochBegan(e machine.EpochBegan) {
	if m.epoch != 0 {
		m.expire()
	}
	m.epoch, m.session = e.Epoch, e.SessionID
	m.suspended, m.trusted, m.deferred = false, e.Trusted, false
	m.standAnew()
}

func (m *Machine) onEpochEnded(e machine.EpochEnded) {
	if !m.foreign(e.Epoch) {
		m.expire()
	}
}

// expire forgets everything that was of the epoch. Claims go on.
func (m *Machine) expire() {
	if m.state == Holding {
		m.do(machine.End{Claim: m.claims[0].id, Cause: machine.Expired})
		m.possessionOver()
	}
	m.settleOwed()
	m.place, m.read = place{}, reading{}
	m.epoch, m.session = 0, 0
	m.state = Out
}

func (m *Machine) onTrustEnded(e machine.TrustEnded) {
	if !m.foreign(e.Epoch) {
		m.trusted = false
	}
}

func (m *Machine) onTrustGained(e machine.TrustGained) {
	if !m.foreign(e.Epoch) {
		m.trusted = true
		m.undefer()
	}
}

func (m *Machine) onSuspended(e machine.Suspended) {
	if !m.foreign(e.Epoch) {
		m.suspended = true
	}
}

// onResumed also lifts a host's refusal: a strict session refuses while it is suspended, without a
// word on trust.
func (m *Machine) onResumed(e machine.Resumed) {
	if !m.foreign(e.Epoch) {
		m.suspended = false
		m.undefer()
	}
}

// undefer looks at the own znode once more before it is granted: its end may be among the events
// that come now.
func (m *Machine) undefer() {
	m.deferred = false
	if m.state == Ready {
		m.verify()
	}
}
