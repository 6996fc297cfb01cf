package prio

import (
	"github.com/troupe-go/troupe/machine"
)

// machine decides for one instance, which has one claim at a time.
type lockMachine struct {
	line, state string // paths
	mode        Mode
	priority    int

	epoch   uint64
	session int64
	phase   phase
	closing bool

	claim    want // what is wanted; Claim 0 is nothing
	given    bool // it is not wanted any more, and something of it may be left
	next     want // what is wanted after that
	last     uint64
	attempts int

	asks    uint64
	own     string // the name of the own znode, "" if there is none
	head    string // what its name begins with
	trusted bool
	again   bool // what is being removed is to be followed by another attempt
	look    look
	warned  map[string]bool // holders that were asked to give way
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

func newMachine(path string, m Mode, priority int) *lockMachine {
	return &lockMachine{line: path + "/line", state: path + "/state", mode: m, priority: priority, phase: idle, warned: map[string]bool{}}
}

// Phase shows in the live tree, and in the table of transitions.
func (m *lockMachine) Phase() string { return string(m.phase) }

// Step implements [machine.Machine].
func (m *lockMachine) Step(ev machine.Event) []machine.Effect {
	switch ev := ev.(type) {
	case want:
		return m.onWant(ev)
	case give:
		return m.onGive(ev)
	case lapsed:
		if ev.Claim == m.claim.Claim && m.phase == holding {
			return m.leave()
		}
	case missed:
		if ev.Claim == m.claim.Claim && m.phase == holding {
			m.again = true
			return m.remove()
		}
	case machine.EpochBegan:
		m.epoch, m.session, m.trusted = ev.Epoch, ev.SessionID, ev.Trusted
		return m.steer()
	case machine.TrustEnded:
		m.trusted = false
	case machine.TrustGained:
		m.trusted = true
		if m.phase == waiting {
			return m.lookAgain()
		}
	case machine.EpochEnded:
		return m.onEpochEnded()
	case machine.Ensured:
		return m.onEnsured(ev)
	case machine.Transacted:
		return m.onTransacted(ev)
	case machine.Listed:
		return m.onListed(ev)
	case machine.Seen:
		return m.onSeen(ev)
	case machine.Fired:
		return m.onFired(ev)
	case machine.Removed:
		return m.onRemoved(ev)
	case machine.Closing:
		m.closing = true
		return m.leave()
	}
	return nil
}

func (m *lockMachine) onWant(w want) []machine.Effect {
	if w.Claim <= m.last { // a wish may be told twice
		return nil
	}
	m.last = w.Claim
	if m.claim.Claim != 0 {
		m.next = w // a wish of the mailbox outlives a crash, and may come late
		return nil
	}
	m.claim = w
	return m.steer()
}

func (m *lockMachine) onGive(g give) []machine.Effect {
	switch g.Claim {
	case m.claim.Claim:
		return m.leave()
	case m.next.Claim:
		m.next = want{}
		return []machine.Effect{gone(g)}
	}
	return nil
}

// steer moves on from idle, if there is something to do and an epoch to do it in.
func (m *lockMachine) steer() []machine.Effect {
	switch {
	case m.closing && m.phase == idle:
		return []machine.Effect{machine.Stop{}}
	case m.phase == idle && m.epoch != 0 && m.claim.Claim != 0:
		return m.stand()
	}
	return nil
}

func (m *lockMachine) ask() uint64 {
	m.asks++
	return m.asks
}

// current tells whether an answer is to what was asked last, in this epoch.
func (m *lockMachine) current(epoch, ask uint64) bool { return epoch == m.epoch && ask == m.asks }

// leave gives up whatever there is of the claim.
func (m *lockMachine) leave() []machine.Effect {
	switch m.phase {
	case idle:
		return m.over()
	case leaving:
		m.again = false
		return nil
	case standing, taking: // what there is to give up is known later: see onTransacted
		m.given = true
		return nil
	}
	return m.remove()
}

func (m *lockMachine) remove() []machine.Effect {
	m.phase = leaving
	return []machine.Effect{machine.Remove{Epoch: m.epoch, Ask: m.ask(), Path: m.line + "/" + m.own}}
}

// over ends the claim: nothing of it is left. The next one has its turn.
func (m *lockMachine) over() []machine.Effect {
	var all []machine.Effect
	if m.claim.Claim != 0 {
		all = append(all, gone{m.claim.Claim})
	}
	m.phase, m.own, m.given, m.again = idle, "", false, false
	m.claim, m.next = m.next, want{}
	return append(all, m.steer()...)
}

func (m *lockMachine) onRemoved(ev machine.Removed) []machine.Effect {
	if m.phase != leaving || !m.current(ev.Epoch, ev.Ask) {
		return nil
	}
	if m.again {
		m.phase, m.own, m.again = idle, "", false
		return m.steer()
	}
	return m.over()
}

func (m *lockMachine) onEpochEnded() []machine.Effect {
	m.epoch = 0
	was, again := m.phase, m.again
	m.phase, m.own, m.look, m.again = idle, "", look{}, false
	if was == leaving && !again || was == holding || m.given {
		return m.over() // its znode went with the epoch; a possession is once
	}
	return m.steer()
}

// fail ends the claim with what ZooKeeper refused. What stands, if anything does, goes with the
// epoch.
func (m *lockMachine) fail(err error) []machine.Effect {
	why := failed{m.claim.Claim, err}
	return append([]machine.Effect{why}, m.over()...)
}

func (m *lockMachine) onTransacted(ev machine.Transacted) []machine.Effect {
	if !m.current(ev.Epoch, ev.Ask) {
		return nil
	}
	switch m.phase {
	case standing:
		return m.onStood(ev)
	case taking:
		return m.onTaken(ev)
	}
	return nil
}
