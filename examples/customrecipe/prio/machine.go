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

	claim    want // the current claim; Claim 0 means none
	given    bool // withdrawn, but its znode may still exist
	next     want // the next claim
	last     uint64
	attempts int

	asks    uint64
	own     string // the name of the own znode, "" if it does not exist
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

func newMachine(path string, m Mode, priority int) *lockMachine {
	return &lockMachine{line: path + "/line", state: path + "/state", mode: m, priority: priority, phase: idle, warned: map[string]bool{}}
}

// Phase returns the phase, for the live tree and the table of transitions.
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
	if w.Claim <= m.last { // an intent may be received twice
		return nil
	}
	m.last = w.Claim
	if m.claim.Claim != 0 {
		m.next = w // an intent in the mailbox survives a crash, and may arrive late
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

// steer leaves the phase idle if there is something to do and an epoch has begun.
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

// current reports whether a reply answers the last request of this epoch.
func (m *lockMachine) current(epoch, ask uint64) bool { return epoch == m.epoch && ask == m.asks }

// leave gives up the claim.
func (m *lockMachine) leave() []machine.Effect {
	switch m.phase {
	case idle:
		return m.over()
	case leaving:
		m.again = false
		return nil
	case standing, taking: // the reply tells what to remove: see onTransacted
		m.given = true
		return nil
	}
	return m.remove()
}

func (m *lockMachine) remove() []machine.Effect {
	m.phase = leaving
	return []machine.Effect{machine.Remove{Epoch: m.epoch, Ask: m.ask(), Path: m.line + "/" + m.own}}
}

// over ends the claim, of which nothing is left, and starts the next one.
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
		return m.over() // the epoch's end deleted its znode; a possession is not revived
	}
	return m.steer()
}

// fail ends the claim with an error of ZooKeeper. If its znode exists, it ends with the epoch.
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
