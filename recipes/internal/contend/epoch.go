package contend

import "github.com/troupe-go/troupe/machine"

// session is what is known of the ZooKeeper session of the epoch.
type session struct {
	id        int64
	suspended bool
	trusted   bool
	deferred  bool // the host could not grant although trusted said so: until news of trust or connection come
}

// note tells whether the news lift a host's refusal. A connection that is back does, too: a strict
// session refuses while it is suspended, without a word on trust.
func (s *session) note(ev machine.Event) (lifts bool) {
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
	if m.epoch() != 0 {
		m.expire()
	}
	m.requests.Begin(e.Epoch)
	m.session = session{id: e.SessionID, trusted: e.Trusted}
	m.enterAnew()
}

// expire forgets everything that was of the epoch. Claims go on.
func (m *Machine) expire() {
	if m.possessed() {
		m.do(machine.End{Claim: m.claims[0].id, Cause: machine.EndExpired})
		m.claims.rotate()
	}
	m.do(m.replaced.whenGone...)
	m.do(m.own.whenGone...)
	m.replaced = own{}
	m.dropOwn()
	m.ahead = 0
	m.requests.End()
	m.session = session{}
	m.watches.all = nil
	m.strategy.forget()
	m.state = Out
}

// onSession takes what the session says within an epoch.
func (m *Machine) onSession(ev machine.Event) {
	m.strategy.on(request{}, ev)
	if m.session.note(ev) {
		m.undefer()
	}
}

// undefer goes on with a grant that was to wait for news.
func (m *Machine) undefer() {
	m.session.deferred = false
	if m.state == Ready {
		m.strategy.confirm()
	}
}
