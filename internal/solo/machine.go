package solo

import "github.com/troupe-go/troupe/internal/machine"

// Machine is one instance's contender. It is not safe for concurrent use: its host feeds it one
// event at a time.
type Machine struct {
	path  string // of the znode
	state State

	epoch     uint64 // 0: none
	session   int64
	suspended bool
	trusted   bool
	deferred  bool // the host could not grant although trusted said so: until news of trust or connection come

	claims []claim // the first is what the znode stands for
	place  place   // the own znode, made or being made
	joined uint64  // number of the last create
	read   reading // what is known of the path

	asks      uint64 // the last number given to a request; never used again, in whatever epoch
	published machine.Standing
	out       []machine.Effect // of the step under way
}

// New makes a machine for the znode at a path. It wants nothing and knows of no epoch.
func New(path string) *Machine { return &Machine{path: path} }

// State tells where the machine stands.
func (m *Machine) State() State { return m.state }

// Step takes one event and returns what follows from it.
func (m *Machine) Step(ev machine.Event) []machine.Effect {
	if !m.wish(ev) && !m.notice(ev) {
		m.answer(ev)
	}
	m.publish()
	out := m.out
	m.out = nil
	return out
}

// wish takes what the application, or its host for it, has to say.
func (m *Machine) wish(ev machine.Event) bool {
	switch ev := ev.(type) {
	case machine.Wanted:
		m.onWanted(ev)
	case machine.Withdrawn:
		m.onWithdrawn(ev)
	case machine.Released:
		m.onReleased(ev)
	case machine.HoldEnded:
		m.onHoldEnded(ev)
	case machine.Deferred:
		m.onDeferred(ev)
	default:
		return false
	}
	return true
}

// notice takes what the session says by itself.
func (m *Machine) notice(ev machine.Event) bool {
	switch ev := ev.(type) {
	case machine.EpochBegan:
		m.onEpochBegan(ev)
	case machine.EpochEnded:
		m.onEpochEnded(ev)
	case machine.TrustEnded:
		m.onTrustEnded(ev)
	case machine.TrustGained:
		m.onTrustGained(ev)
	case machine.Suspended:
		m.onSuspended(ev)
	case machine.Resumed:
		m.onResumed(ev)
	case machine.Fired:
		m.onFired(ev)
	case machine.Recovered:
		m.onRecovered(ev)
	default:
		return false
	}
	return true
}

// answer takes what was asked for. Nobody asks for a listing or a pause.
func (m *Machine) answer(ev machine.Event) {
	switch ev := ev.(type) {
	case machine.Joined:
		m.onJoined(ev)
	case machine.Seen:
		m.onSeen(ev)
	case machine.Left:
		m.onLeft(ev)
	}
}

// do emits effects.
func (m *Machine) do(effects ...machine.Effect) { m.out = append(m.out, effects...) }

// ask numbers a request.
func (m *Machine) ask() uint64 {
	m.asks++
	return m.asks
}

// foreign: an event of this epoch is none of the machine's, because the epoch is over or has not
// begun.
func (m *Machine) foreign(epoch uint64) bool { return m.epoch == 0 || epoch != m.epoch }
