package contend

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// Config describes the contenders that a machine is one of.
type Config struct {
	Parent string // path of the znode whose children they are
	Rule   Rule   // nil: Exclusive
	Data   []byte // with which the own znode is created; for Permits, which write to it
	Delay  int64  // milliseconds that the first contender waits after it has found the record of a holder that did not release; 0: none
}

// Machine decides for one instance. It has the state that both strategies need: the instance's
// claims, the epoch, and the own znode from its create to its deletion. The strategy decides when
// it is the machine's turn. A machine is not safe for concurrent use: its host passes it one event
// at a time.
type Machine struct {
	// What decides.
	state    State
	strategy strategy
	delay    *delay // nil: no delay after a holder that died

	// What is known of the epoch.
	session  session
	requests machine.Requests[request]
	watches  watches

	// The claims, the own znode, what is known of the contenders ahead of it, and what was told.
	claims    []wanted // in the order in which they are served: the own znode is that of the first
	entry     entry    // created or being created
	replaced  entry    // its possession was lost, and the pending create deletes it; only in Entering
	ahead     ahead
	blockers  int              // how many contenders it had to wait for by the last listing
	published machine.Standing // the last one
}

// strategy decides when it is the machine's turn: as one of several contenders, or with the one
// znode at a path.
type strategy interface {
	entering(ask uint64)              // the own znode is being created, by the request of that number
	occupied(err error) bool          // whether the create failed because of another client's znode; then waits for its deletion
	entered()                         // the own znode exists
	advance()                         // goes on from Checking
	confirm()                         // goes on from Ready: the session may have become trusted
	ended()                           // a possession was lost, and there is another claim
	unwanted()                        // the last claim is withdrawn
	forget()                          // the last listing and the watches of the wait are void
	on(key request, ev machine.Event) // all other events; an answer comes with its key
}

// New makes a machine that is one of the contenders under a znode. It has no claim and no epoch.
func New(cfg Config) *Machine {
	if cfg.Rule == nil {
		cfg.Rule = Exclusive()
	}
	m := &Machine{}
	m.watches.requests = &m.requests
	c := &contenders{m: m, cfg: cfg}
	if permits, ok := cfg.Rule.(*Permits); ok {
		c.semaphore = &semaphore{m: m, c: c, permits: permits}
	}
	if cfg.Delay > 0 {
		m.delay = &delay{m: m, after: cfg.Delay, stage: Open}
	}
	m.strategy = c
	return m
}

// NewSingle makes a machine that holds when it has created the one znode at a path. It has no claim
// and no epoch.
func NewSingle(path string) *Machine {
	m := &Machine{}
	m.watches.requests = &m.requests
	m.strategy = &single{m: m, path: path}
	return m
}

// State returns the state of the machine.
func (m *Machine) State() State { return m.state }

// Delay returns the state of the delay; Open if there is none.
func (m *Machine) Delay() State {
	if m.delay == nil {
		return Open
	}
	return m.delay.stage
}

// Step takes one event and returns the effects that follow.
func (m *Machine) Step(ev machine.Event) []machine.Effect {
	key, ok := m.requests.Accept(ev)
	if !ok {
		return nil
	}
	if !m.onWish(ev) && !m.onNotice(ev) {
		m.onAnswer(key, ev)
	}
	return m.publish(m.requests.Flush())
}

// onWish handles the events of the application, and of its host for it.
func (m *Machine) onWish(ev machine.Event) bool {
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

// onNotice handles the events of the session.
func (m *Machine) onNotice(ev machine.Event) bool {
	switch ev := ev.(type) {
	case machine.EpochBegan:
		m.onEpochBegan(ev)
	case machine.EpochEnded:
		m.expire()
	case machine.TrustEnded, machine.TrustGained, machine.Suspended, machine.Resumed:
		m.strategy.on(request{}, ev) // Suspended makes it doubt its listing
		if m.session.saw(ev) {
			m.retry()
		}
	default:
		return false
	}
	return true
}

// onAnswer handles answers, and events of watches.
func (m *Machine) onAnswer(key request, ev machine.Event) {
	switch key.kind {
	case delaying:
		m.delay.on(ev)
		return
	case pausing:
		if m.state == Holding { // its znode is read, for the first time or after a read that failed
			m.watch(m.entry.path)
		}
		return
	}
	switch ev := ev.(type) {
	case machine.Entered:
		m.onEntered(ev)
	case machine.Removed:
		m.onLeft(ev)
	default:
		m.strategy.on(key, ev)
	}
}

// ask emits a request, and returns its number.
func (m *Machine) ask(r machine.Request, as kind) uint64 {
	return m.requests.Ask(r, request{kind: as})
}

func (m *Machine) pending(as kind) bool { return m.requests.Pending(request{kind: as}) }

// publish adds the standing, if it has changed, before the step's other effects. A host may answer
// a Grant with Deferred while it carries them out, and the standing of that step is the later one.
func (m *Machine) publish(effects []machine.Effect) []machine.Effect {
	s := m.standing()
	if s == m.published {
		return effects
	}
	m.published = s
	return slices.Insert(effects, 0, machine.Effect(machine.Publish{Standing: s}))
}

func (m *Machine) standing() machine.Standing {
	s := machine.Standing{Phase: m.phase()}
	if s.Phase == machine.Idle {
		return s // this is known without ZooKeeper
	}
	s.Ahead = m.blockers
	s.Stale = m.requests.Epoch() == 0 || m.session.suspended || !m.session.trusted || m.session.refused
	return s
}

func (m *Machine) phase() machine.Phase {
	switch {
	case len(m.claims) == 0:
		return machine.Idle
	case m.possessed():
		return machine.Holding
	case blocked(m.state), m.state == Checking && m.blockers > 0:
		return machine.Waiting // also while the watches are set again
	case placed(m.state):
		return machine.Determining
	default:
		return machine.Offering
	}
}
