package contend

import "github.com/troupe-go/troupe/internal/machine"

func (m *Machine) onEpochBegan(e machine.EpochBegan) {
	if m.epoch != 0 {
		m.expire()
	}
	m.epoch = e.Epoch
	m.session = session{id: e.SessionID, trusted: e.Trusted}
	m.enterAnew()
}

func (m *Machine) onEpochEnded(e machine.EpochEnded) {
	if !m.void(e.Epoch) {
		m.expire()
	}
}

// expire forgets everything that was of the epoch. Claims go on.
func (m *Machine) expire() {
	if m.possessed() {
		m.do(machine.End{Claim: m.claims[0].id, Cause: machine.Expired})
		m.claims.rotate()
	}
	m.do(m.replaced.whenGone...)
	m.do(m.own.whenGone...)
	m.replaced = own{}
	m.dropOwn()
	m.ahead = 0
	m.epoch, m.session = 0, session{}
	m.watches.all = nil
	m.strategy.forget()
	m.state = Out
}

func (m *Machine) onTrustEnded(e machine.TrustEnded) {
	if !m.void(e.Epoch) {
		m.session.trusted = false
	}
}

func (m *Machine) onTrustGained(e machine.TrustGained) {
	if !m.void(e.Epoch) {
		m.session.trusted = true
		m.undefer()
	}
}

func (m *Machine) onSuspended(e machine.Suspended) {
	if !m.void(e.Epoch) {
		m.session.suspended = true
		m.strategy.on(e)
	}
}

// onResumed also lifts a host's refusal: a strict session refuses while it is suspended, without a
// word on trust.
func (m *Machine) onResumed(e machine.Resumed) {
	if !m.void(e.Epoch) {
		m.session.suspended = false
		m.undefer()
	}
}

func (m *Machine) undefer() {
	m.session.deferred = false
	if m.state == Ready {
		m.strategy.confirm()
	}
}
