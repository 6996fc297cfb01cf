package prio

import (
	"github.com/troupe-go/troupe/machine"
)

// machine decides for one instance, which has one claim at a time.
type lockMachine struct {
	line, state string // paths
	mode        Mode
	priority    int

	requests machine.Requests[purpose]
	session  int64
	phase    phase
	closing  bool

	claim    want // the current claim; Claim 0 means none
	given    bool // withdrawn, but its znode may still exist
	next     want // the next claim
	last     uint64
	attempts int

	self    string // the name of the own znode, "" if it does not exist
	head    string // the prefix of its name
	trusted bool
	again   bool // enter again after the removal
	look    look
	warned  map[string]bool // holders that were asked to release
}

type phase string

const (
	idle     phase = "idle"
	standing phase = "standing"
	looking  phase = "looking"
	waiting  phase = "waiting"
	taking   phase = "taking"
	holding  phase = "holding"
	leaving  phase = "leaving"
)

// purpose is what a request is for. One is pending for each purpose.
type purpose string

const (
	creating     purpose = "create" // the own znode is created, or looked for
	listing      purpose = "list"
	readingState purpose = "state" // or creating it
	readingOwn   purpose = "own"
	readingFront purpose = "front" // the waiter ahead
	joining      purpose = "join"  // the holders
	removing     purpose = "remove"
)

func newMachine(path string, m Mode, priority int) *lockMachine {
	return &lockMachine{line: path + "/line", state: path + "/state", mode: m, priority: priority, phase: idle, warned: map[string]bool{}}
}

// Phase returns the phase, for the live tree and the table of transitions.
func (m *lockMachine) Phase() string { return string(m.phase) }

// Step implements [machine.Machine].
func (m *lockMachine) Step(ev machine.Event) []machine.Effect {
	if key, ok := m.requests.Accept(ev); ok {
		m.handle(key, ev)
	}
	return m.requests.Flush()
}

// handle handles an event. The key tells what a reply is for.
func (m *lockMachine) handle(key purpose, ev machine.Event) {
	switch ev := ev.(type) {
	case want:
		m.onWant(ev)
	case give:
		m.onGive(ev)
	case lapsed:
		if ev.Claim == m.claim.Claim && m.phase == holding {
			m.leave()
		}
	case missed:
		if ev.Claim == m.claim.Claim && m.phase == holding {
			m.again = true
			m.remove()
		}
	case machine.EpochBegan:
		m.requests.Begin(ev.Epoch)
		m.session, m.trusted = ev.SessionID, ev.Trusted
		m.steer()
	case machine.TrustEnded:
		m.trusted = false
	case machine.TrustGained:
		m.trusted = true
		if m.phase == waiting {
			m.lookAgain()
		}
	case machine.EpochEnded:
		m.onEpochEnded()
	case machine.Ensured:
		m.onEnsured(key, ev)
	case machine.Transacted:
		m.onTransacted(key, ev)
	case machine.Listed:
		m.onListed(key, ev)
	case machine.Seen:
		m.onSeen(key, ev)
	case machine.Fired:
		m.onFired(ev)
	case machine.Removed:
		m.onRemoved()
	case machine.Closing:
		m.closing = true
		m.leave()
	}
}

func (m *lockMachine) onWant(w want) {
	if w.Claim <= m.last { // an intent may be received twice
		return
	}
	m.last = w.Claim
	if m.claim.Claim != 0 {
		m.next = w // an intent in the mailbox survives a crash, and may arrive late
		return
	}
	m.claim = w
	m.steer()
}

func (m *lockMachine) onGive(g give) {
	switch g.Claim {
	case m.claim.Claim:
		m.leave()
	case m.next.Claim:
		m.next = want{}
		m.requests.Emit(gone(g))
	}
}

// steer leaves the phase idle if there is something to do and an epoch has begun.
func (m *lockMachine) steer() {
	switch {
	case m.closing && m.phase == idle:
		m.requests.Emit(machine.Stop{})
	case m.phase == idle && m.requests.Epoch() != 0 && m.claim.Claim != 0:
		m.stand()
	}
}

// leave gives up the claim.
func (m *lockMachine) leave() {
	switch m.phase {
	case idle:
		m.over()
	case leaving:
		m.again = false
	case standing, taking: // the reply tells what to remove: see onTransacted
		m.given = true
	default:
		m.remove()
	}
}

func (m *lockMachine) remove() {
	m.phase = leaving
	m.requests.Ask(machine.Remove{Path: m.path()}, removing)
}

// path is the own znode's.
func (m *lockMachine) path() string { return m.line + "/" + m.self }

// over ends the claim, of which nothing is left, and starts the next one.
func (m *lockMachine) over() {
	if m.claim.Claim != 0 {
		m.requests.Emit(gone{m.claim.Claim})
	}
	m.phase, m.self, m.given, m.again = idle, "", false, false
	m.claim, m.next = m.next, want{}
	m.steer()
}

func (m *lockMachine) onRemoved() {
	if m.again {
		m.phase, m.self, m.again = idle, "", false
		m.steer()
		return
	}
	m.over()
}

func (m *lockMachine) onEpochEnded() {
	m.requests.End()
	was, again := m.phase, m.again
	m.phase, m.self, m.look, m.again = idle, "", look{}, false
	if was == leaving && !again || was == holding || m.given {
		m.over() // the epoch's end deleted its znode; a possession is not revived
		return
	}
	m.steer()
}

// fail ends the claim with an error of ZooKeeper. If its znode exists, it ends with the epoch.
func (m *lockMachine) fail(err error) {
	m.requests.Emit(failed{m.claim.Claim, err})
	m.over()
}

func (m *lockMachine) onTransacted(key purpose, ev machine.Transacted) {
	switch key {
	case creating:
		m.onStood(ev)
	case joining:
		m.onTaken(ev)
	}
}
