package contend

import (
	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/znode"
)

// Config describes the line that a machine stands in.
type Config struct {
	Parent string                // path of the znode whose children are the line
	Rule   Rule                  // nil: Exclusive
	Data   []byte                // of the own znode, as it is made: needed where it is written to, which Permits do
	Accept func(znode.Kind) bool // kinds of contenders that belong to the line; nil: all. The own znode always does
}

// Machine is one instance's contender. It is not safe for concurrent use: its host feeds it one
// event at a time.
type Machine struct {
	cfg     Config
	permits *Permits // the rule, if it is that one
	state   State

	epoch     uint64 // 0: none
	session   int64
	suspended bool
	trusted   bool
	deferred  bool // the host could not grant although trusted said so: until news of trust or connection come

	claims  []claim // the first is what the place stands for
	place   place   // the own znode, made or being made
	old     place   // a spent one that the Join under way deletes
	look    look    // the last look at the line, or the one under way
	ahead   int     // how many it had to wait for at the last finished look
	watches watches // what ZooKeeper was asked to watch in this epoch
	limit   limit   // of a semaphore

	asks      uint64 // the last number given to a request; never used again, in whatever epoch
	published machine.Standing
	out       []machine.Effect // of the step under way
}

// New makes a machine that wants nothing and knows of no epoch.
func New(cfg Config) *Machine {
	if cfg.Rule == nil {
		cfg.Rule = Exclusive()
	}
	permits, _ := cfg.Rule.(*Permits)
	return &Machine{cfg: cfg, permits: permits}
}

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
	case machine.Downgraded:
		m.onDowngraded(ev)
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

// answer takes what was asked for.
func (m *Machine) answer(ev machine.Event) {
	switch ev := ev.(type) {
	case machine.Joined:
		m.onJoined(ev)
	case machine.Listed:
		m.onListed(ev)
	case machine.Seen:
		m.onSeen(ev)
	case machine.Left:
		m.onLeft(ev)
	case machine.Exchanged:
		m.onExchanged(ev)
	case machine.Written:
		m.onWritten(ev)
	case machine.Woke:
		m.onWoke(ev)
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
