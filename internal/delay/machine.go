package delay

import (
	"slices"

	"github.com/troupe-go/troupe/internal/contend"
	"github.com/troupe-go/troupe/internal/machine"
)

// Machine is a contender with a gate in front of its grants. It is not safe for concurrent use: its
// host feeds it one event at a time.
type Machine struct {
	inner *contend.Machine
	state State

	epoch     uint64
	suspended bool
	trusted   bool

	place    string // path of the own znode that is first
	token    int64
	lost     bool          // its possession ended by itself
	leaving  bool          // it is to be deleted, once it is known whether the token was written
	head     machine.Claim // that the contender wanted to grant last, 0: it was withdrawn since
	ask      uint64        // of the request or the pause under way
	version  int32         // of the record that is to be replaced
	waited   int64         // the token after whose holder the delay has run
	asks     uint64
	tries    map[machine.Claim]struct{}
	verdicts map[machine.Claim]error // what claims that are being withdrawn settle with

	standing  machine.Standing // as the contender has it
	published machine.Standing
	out       []machine.Effect
}

// mine marks the numbers of this machine's requests; the contender counts from 1.
const mine = 1 << 63

// New puts a gate in front of a contender.
func New(inner *contend.Machine) *Machine {
	return &Machine{inner: inner, tries: make(map[machine.Claim]struct{}), verdicts: make(map[machine.Claim]error)}
}

// State tells where the gate stands.
func (m *Machine) State() State { return m.state }

// Inner is the contender.
func (m *Machine) Inner() *contend.Machine { return m.inner }

// Step takes one event and returns what follows from it.
func (m *Machine) Step(ev machine.Event) []machine.Effect {
	switch ev := ev.(type) {
	case machine.Recorded:
		m.onRecorded(ev)
	case machine.Woke:
		if ev.Ask&mine == 0 {
			m.tell(ev)
		} else {
			m.onWoke(ev)
		}
	default:
		m.note(ev)
		m.tell(ev)
	}
	m.publish()
	out := m.out
	m.out = nil
	return out
}

// note keeps what this machine has to know of what goes to the contender.
func (m *Machine) note(ev machine.Event) {
	switch ev := ev.(type) {
	case machine.Wanted:
		if ev.Try {
			m.tries[ev.Claim] = struct{}{}
		}
	case machine.Withdrawn:
		if ev.Claim == m.head {
			m.head = 0
		}
	case machine.HoldEnded:
		m.lost = true
	case machine.EpochBegan:
		m.reset()
		m.epoch, m.trusted, m.suspended = ev.Epoch, ev.Trusted, false
	case machine.EpochEnded:
		if ev.Epoch == m.epoch {
			m.reset()
			m.epoch = 0
		}
	case machine.TrustEnded:
		m.trusted = m.trusted && ev.Epoch != m.epoch
	case machine.TrustGained:
		m.trusted = m.trusted || ev.Epoch == m.epoch
	case machine.Suspended:
		m.suspended = m.suspended || ev.Epoch == m.epoch
	case machine.Resumed:
		m.suspended = m.suspended && ev.Epoch != m.epoch
	}
}

// tell passes an event on to the contender, and what follows out, but for grants that have to wait.
func (m *Machine) tell(ev machine.Event) {
	for _, e := range m.inner.Step(ev) {
		m.pass(e)
	}
	if s := m.inner.State(); m.state != Open && !m.leaving && (s < contend.Listing || s > contend.Holding) {
		m.reset()
		m.goOn() // what it was told about that grant is not about the next
	}
}

func (m *Machine) pass(e machine.Effect) {
	switch e := e.(type) {
	case machine.Grant:
		m.onGrant(e)
		return
	case machine.Leave:
		if e.Path == m.place {
			m.leave()
			return
		}
	case machine.End:
		m.lost = true
	case machine.Settle:
		if err, withdrawn := m.verdicts[e.Claim]; withdrawn {
			e.Err = err
		}
		delete(m.verdicts, e.Claim)
		delete(m.tries, e.Claim)
		m.do(e)
		return
	case machine.Publish:
		m.standing = e.Standing
		return
	}
	m.do(e)
}

// publish tells where the instance stands, if that has changed, in front of all else, as package
// contend does. A contender that is kept waiting here holds in its own eyes for a moment, and takes
// it for a doubt about its session.
func (m *Machine) publish() {
	s := m.standing
	if s.Phase != machine.Idle {
		s.Stale = m.epoch == 0 || m.suspended || !m.trusted
	}
	if s != m.published {
		m.published = s
		m.out = slices.Insert(m.out, 0, machine.Effect(machine.Publish{Standing: s}))
	}
}

func (m *Machine) do(effects ...machine.Effect) { m.out = append(m.out, effects...) }

// next numbers a request.
func (m *Machine) next() uint64 {
	m.asks++
	m.ask = mine | m.asks
	return m.ask
}

// reset forgets the place: it is no longer first, or no longer there.
func (m *Machine) reset() {
	m.state = Open
	m.place, m.token, m.lost, m.leaving, m.head, m.ask, m.waited = "", 0, false, false, 0, 0, 0
}
