package contend

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
	if m.possessed() {
		m.do(machine.End{Claim: m.claims[0].id, Cause: machine.Expired})
		m.possessionOver()
	}
	m.do(m.old.owed...)
	m.do(m.place.owed...)
	m.old, m.place, m.look = place{}, place{}, look{}
	m.ahead = 0
	m.watches, m.limit = nil, limit{}
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

// onSuspended also gives up the short way to a grant: after a reconnection the server tells what
// happened meanwhile watch by watch, not in the order in which it happened, so the predecessor's
// end may be heard of before the own znode's.
func (m *Machine) onSuspended(e machine.Suspended) {
	if !m.foreign(e.Epoch) {
		m.suspended = true
		m.look.torn = true
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

func (m *Machine) undefer() {
	m.deferred = false
	switch {
	case m.state != Ready:
	case m.look.torn:
		m.list() // the end of the own znode may be among the events that come now
	default:
		m.first()
	}
}
