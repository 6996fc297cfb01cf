package prio

import (
	"github.com/troupe-go/troupe/recipe"
)

// machine decides for one instance, which has one claim at a time.
type machine struct {
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

func newMachine(path string, m Mode, priority int) *machine {
	return &machine{line: path + "/line", state: path + "/state", mode: m, priority: priority, phase: idle, warned: map[string]bool{}}
}

// Phase shows in the live tree, and in the table of transitions.
func (m *machine) Phase() string { return string(m.phase) }

// Step implements [recipe.Machine].
func (m *machine) Step(ev recipe.Event) []recipe.Effect {
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
	case recipe.EpochBegan:
		m.epoch, m.session, m.trusted = ev.Epoch, ev.SessionID, ev.Trusted
		return m.steer()
	case recipe.TrustEnded:
		m.trusted = false
	case recipe.TrustGained:
		m.trusted = true
		if m.phase == waiting {
			return m.lookAgain()
		}
	case recipe.EpochEnded:
		return m.onEpochEnded()
	case recipe.Ensured:
		return m.onEnsured(ev)
	case recipe.Transacted:
		return m.onTransacted(ev)
	case recipe.Listed:
		return m.onListed(ev)
	case recipe.Seen:
		return m.onSeen(ev)
	case recipe.Fired:
		return m.onFired(ev)
	case recipe.Removed:
		return m.onRemoved(ev)
	case recipe.Closing:
		m.closing = true
		return m.leave()
	}
	return nil
}

func (m *machine) onWant(w want) []recipe.Effect {
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

func (m *machine) onGive(g give) []recipe.Effect {
	switch g.Claim {
	case m.claim.Claim:
		return m.leave()
	case m.next.Claim:
		m.next = want{}
		return []recipe.Effect{gone(g)}
	}
	return nil
}

// steer moves on from idle, if there is something to do and an epoch to do it in.
func (m *machine) steer() []recipe.Effect {
	switch {
	case m.closing && m.phase == idle:
		return []recipe.Effect{recipe.Stop{}}
	case m.phase == idle && m.epoch != 0 && m.claim.Claim != 0:
		return m.stand()
	}
	return nil
}

func (m *machine) ask() uint64 {
	m.asks++
	return m.asks
}

// current tells whether an answer is to what was asked last, in this epoch.
func (m *machine) current(epoch, ask uint64) bool { return epoch == m.epoch && ask == m.asks }

// leave gives up whatever there is of the claim.
func (m *machine) leave() []recipe.Effect {
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

func (m *machine) remove() []recipe.Effect {
	m.phase = leaving
	return []recipe.Effect{recipe.Remove{Epoch: m.epoch, Ask: m.ask(), Path: m.line + "/" + m.own}}
}

// over ends the claim: nothing of it is left. The next one has its turn.
func (m *machine) over() []recipe.Effect {
	var all []recipe.Effect
	if m.claim.Claim != 0 {
		all = append(all, gone{m.claim.Claim})
	}
	m.phase, m.own, m.given, m.again = idle, "", false, false
	m.claim, m.next = m.next, want{}
	return append(all, m.steer()...)
}

func (m *machine) onRemoved(ev recipe.Removed) []recipe.Effect {
	if m.phase != leaving || !m.current(ev.Epoch, ev.Ask) {
		return nil
	}
	if m.again {
		m.phase, m.own, m.again = idle, "", false
		return m.steer()
	}
	return m.over()
}

func (m *machine) onEpochEnded() []recipe.Effect {
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
func (m *machine) fail(err error) []recipe.Effect {
	why := failed{m.claim.Claim, err}
	return append([]recipe.Effect{why}, m.over()...)
}

func (m *machine) onTransacted(ev recipe.Transacted) []recipe.Effect {
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
