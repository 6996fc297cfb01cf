package delay

import "github.com/troupe-go/troupe/internal/machine"

// onGrant lets a grant pass if its token is in the record, and has the contender wait otherwise.
func (m *Machine) onGrant(e machine.Grant) {
	m.head = e.Claim
	if m.state == Recorded && e.Path == m.place {
		delete(m.tries, e.Claim)
		m.do(e)
		return
	}
	if e.Path != m.place {
		m.reset()
		m.place, m.token, m.head = e.Path, e.Token, e.Claim
		m.record(-1)
	}
	m.tell(machine.Deferred{Claim: e.Claim})
}

// record writes the token.
func (m *Machine) record(version int32) {
	m.state = Recording
	m.do(machine.Record{Epoch: m.epoch, Ask: m.next(), Place: m.place, Token: m.token, Version: version})
}

func (m *Machine) onRecorded(e machine.Recorded) {
	if m.epoch == 0 || e.Epoch != m.epoch || m.state != Recording || e.Ask != m.ask {
		return
	}
	switch {
	case m.leaving:
		m.state = Open
		if e.Err == nil && e.Token == m.token {
			m.state = Recorded
		}
		m.leave()
		m.reset()
		m.goOn()
	case e.Err != nil:
		m.settle(e.Err)
	case e.Token == m.token:
		m.state = Recorded
		m.goOn()
	case e.Version < 0, e.Token == m.waited && m.waited != 0:
		m.record(e.Version)
	default:
		m.found(e)
	}
}

// leave deletes the own znode, and the record with it if that contains the token and the possession
// was not lost.
func (m *Machine) leave() {
	switch {
	case m.state == Recording:
		m.leaving = true
	case m.state == Recorded && !m.lost:
		m.do(machine.Depart{Epoch: m.epoch, Path: m.place})
	default:
		m.do(machine.Leave{Epoch: m.epoch, Path: m.place})
	}
}

// found: the record contains another's token, and nobody is ahead: whoever it was has died, or lost
// what he held.
func (m *Machine) found(e machine.Recorded) {
	m.state = Lingering
	m.version, m.waited = e.Version, e.Token
	m.do(machine.Linger{Ask: m.next()})
	if _, try := m.tries[m.head]; try {
		m.withdraw(m.head, machine.ErrHeld)
	}
}

func (m *Machine) onWoke(e machine.Woke) {
	if m.state == Lingering && e.Ask == m.ask {
		m.record(m.version)
	}
}

// goOn lets the contender grant. Without trust it does so when that comes.
func (m *Machine) goOn() {
	if m.trusted {
		m.tell(machine.TrustGained{Epoch: m.epoch})
	}
}

// settle fails the claim that is first, since the record cannot be written. The others are told the
// same when it is their turn; so is the one that the place went to when the first was withdrawn
// meanwhile.
func (m *Machine) settle(err error) {
	head := m.head
	m.reset()
	m.withdraw(head, err)
	m.goOn()
}

// withdraw has the contender settle the claim that was first, with this for its verdict.
func (m *Machine) withdraw(head machine.Claim, err error) {
	m.head = 0
	if head == 0 {
		return
	}
	m.verdicts[head] = err
	m.tell(machine.Withdrawn{Claim: head})
}
