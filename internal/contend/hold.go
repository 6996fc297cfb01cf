package contend

import "github.com/troupe-go/troupe/internal/machine"

// grant makes a possession of the place.
func (m *Machine) grant() {
	c := m.claims[0].id
	m.state = Holding
	m.look = look{}
	m.place.of = c
	m.do(machine.Grant{Epoch: m.epoch, Claim: c, Path: m.place.path, Token: m.place.czxid})
	m.tellRevoked()
}

// tellRevoked tells the holder, once, that its znode asks it to give up.
func (m *Machine) tellRevoked() {
	if m.place.revoked && !m.place.told {
		m.place.told = true
		m.do(machine.Revoked{Claim: m.place.of})
	}
}

// onDeferred takes a grant back: the place is kept until trust is.
func (m *Machine) onDeferred(e machine.Deferred) {
	if !m.holds(e.Claim) {
		return
	}
	m.deferred = true
	m.place.of, m.place.told = 0, false
	m.state = Checking
	m.advance()
}

// onHoldEnded: the possession is over though its znode stands. No other may come of that one.
func (m *Machine) onHoldEnded(e machine.HoldEnded) {
	if !m.holds(e.Claim) {
		return
	}
	m.possessionOver()
	if len(m.claims) == 0 {
		m.leave()
		return
	}
	m.rejoin()
}

// unwatched: the own znode of a possession can't be read, and could not from the start. A
// possession that could not be ended is none.
func (m *Machine) unwatched(err error) {
	m.do(machine.End{Claim: m.claims[0].id, Cause: machine.Unwatched, Err: err})
	m.possessionOver()
	m.fail(err)
}

// pause: the own znode could not be read while it is held. It stands, as far as is known, so the
// possession does; but nobody tells when it goes.
func (m *Machine) pause() {
	m.place.tries++
	m.place.retry = m.ask()
	m.do(machine.Wake{Ask: m.place.retry, Try: m.place.tries})
}

func (m *Machine) onWoke(e machine.Woke) {
	if m.state != Holding || e.Ask != m.place.retry {
		return
	}
	m.place.retry = 0
	m.watch(m.place.path)
}
