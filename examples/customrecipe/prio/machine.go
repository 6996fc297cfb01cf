package prio

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// The intents, from the handle. Each may be received twice.
type (
	want   struct{} // hold the lock, once
	lapsed struct{} // the possession has ended by itself
)

// granted is the effect for the handle: the lock is held. It is performed again when trust is back,
// since there is no possession without.
type granted struct {
	Epoch uint64
	Path  string
	Token int64
}

// lockMachine decides for one contender.
type lockMachine struct {
	path     string
	priority int
	id       string

	requests machine.Requests[phase]
	phase    phase
	wanted   bool
	attempts int
	prefix   string // of the own znode's name: unique to this attempt, so that it can be found if the reply is lost
	self     string // the path of the own znode, if it is known
	token    int64
}

// phase is also what a request is for: an answer that comes in another phase is void.
type phase string

const (
	idle     phase = "idle"
	entering phase = "entering"
	reading  phase = "reading"
	waiting  phase = "waiting"
	taking   phase = "taking"
	holding  phase = "holding"
	leaving  phase = "leaving"
	over     phase = "over"
)

func newMachine(path string, priority int, id string) *lockMachine {
	return &lockMachine{path: path, priority: priority, id: id, phase: idle}
}

// Phase returns the phase, for the live tree and the table of transitions.
func (m *lockMachine) Phase() string { return string(m.phase) }

// Step implements [machine.Machine].
func (m *lockMachine) Step(ev machine.Event) []machine.Effect {
	if key, ok := m.requests.Accept(ev); ok && (key == "" || key == m.phase) { // only an answer has a key
		m.handle(ev)
	}
	return m.requests.Flush()
}

func (m *lockMachine) handle(ev machine.Event) {
	switch ev := ev.(type) {
	case want:
		m.wanted = true
		m.start()
	case lapsed, machine.Closing:
		m.leave()
	case machine.EpochBegan:
		m.requests.Begin(ev.Epoch)
		m.start()
	case machine.EpochEnded:
		m.onEpochEnded()
	case machine.TrustGained, machine.Resumed:
		if m.phase == holding { // the handle may have been refused a possession
			m.hold(m.token)
		}
	case machine.Fired: // a reason to read again
		if m.phase == waiting {
			m.read()
		}
	case machine.Transacted:
		if m.phase == entering {
			m.onCreated(ev)
		} else {
			m.onTaken(ev)
		}
	case machine.Ensured:
		if ev.Code == machine.Done {
			m.enter()
		} else {
			m.stop(ev.Err)
		}
	case machine.MultiSeen:
		m.onRead(ev.Answers[0].(machine.Seen), ev.Answers[1].(machine.Listed))
	case machine.Seen:
		if ev.Code == machine.Refused {
			m.stop(ev.Err)
		} else if !ev.Exists { // no event will come
			m.read()
		}
	case machine.Removed:
		m.stop(nil)
	}
}

// start enters if the lock is wanted, and an epoch has begun.
func (m *lockMachine) start() {
	if m.phase == idle && m.wanted && m.requests.Epoch() != 0 {
		m.enter()
	}
}

// enter creates a znode for the contender.
func (m *lockMachine) enter() {
	if !m.wanted {
		m.stop(nil)
		return
	}
	m.phase, m.self = entering, ""
	m.attempts++
	m.prefix = fmt.Sprintf("%03d-%s.%d-", m.priority, m.id, m.attempts)
	op := machine.Op{Do: machine.Create, Path: path.Join(m.path, m.prefix), Ephemeral: true, Sequential: true}
	m.requests.Ask(machine.Transact{Ops: []machine.Op{op}}, entering)
}

func (m *lockMachine) onCreated(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done, machine.Unknown: // unknown: the listing tells
		m.read()
	case machine.NoNode:
		m.requests.Ask(machine.Ensure{Path: m.path, Container: true}, entering)
	default:
		m.stop(ev.Err)
	}
}

// read reads who holds the lock, and then lists the contenders: so a holder that the listing lacks
// has released.
func (m *lockMachine) read() {
	m.phase = reading
	m.requests.Ask(machine.MultiRead{Queries: []machine.Query{{Path: m.path}, {Path: m.path, Children: true}}}, reading)
}

func (m *lockMachine) onRead(state machine.Seen, listing machine.Listed) {
	if state.Code == machine.Refused || listing.Code == machine.Refused {
		m.stop(errors.Join(state.Err, listing.Err))
		return
	}
	all, holder := sorted(listing.Names), string(state.Data)
	me := slices.IndexFunc(all, func(name string) bool { return strings.Contains(name, m.prefix) })
	if me < 0 { // it was not created, or was deleted by hand
		m.enter()
		return
	}
	m.self = path.Join(m.path, all[me])
	switch {
	case !m.wanted: // withdrawn meanwhile
		m.leave()
	case holder == all[me]: // the reply to its taking was lost
		m.hold(state.Stat.Mzxid)
	case me > 0:
		m.wait(all[me-1])
	case slices.Contains(all, holder):
		m.wait(holder)
	default:
		m.take(state.Stat.Version)
	}
}

// pattern is a contender's name: the GUID that the session puts in front, its priority, its id, its
// number.
var pattern = regexp.MustCompile(`^(?:_c_[0-9a-f-]{36}-)?(\d{3})-[a-z0-9]+\.\d+-\d{10}$`)

// sorted returns the names of contenders by priority, then by arrival. Other programs may have
// created other znodes.
func sorted(names []string) []string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !pattern.MatchString(name) })
	slices.SortFunc(names, func(a, b string) int {
		first, second := pattern.FindStringSubmatch(a), pattern.FindStringSubmatch(b)
		return cmp.Or(strings.Compare(first[1], second[1]), strings.Compare(a[len(a)-10:], b[len(b)-10:]))
	})
	return names
}

// wait watches the znode of another contender.
func (m *lockMachine) wait(front string) {
	m.phase = waiting
	m.requests.Ask(machine.Read{Path: path.Join(m.path, front), Watch: true}, waiting)
}

// take writes the contender's own name into the state, if that has not changed since it was read.
func (m *lockMachine) take(version int32) {
	m.phase = taking
	m.requests.Ask(machine.Transact{Ops: []machine.Op{
		{Do: machine.Check, Path: m.self, Version: machine.Any},
		{Do: machine.Set, Path: m.path, Data: []byte(path.Base(m.self)), Version: version},
	}}, taking)
}

// onTaken handles the answer to take: this contender is the holder now, or the state has changed.
// If the answer was lost, a read tells.
func (m *lockMachine) onTaken(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		m.hold(ev.Results[1].Stat.Mzxid)
	case machine.Refused:
		m.stop(ev.Err)
	default:
		m.read()
	}
}

// hold hands out the lock.
func (m *lockMachine) hold(token int64) {
	m.phase, m.token = holding, token
	m.requests.Emit(granted{m.requests.Epoch(), m.self, m.token})
}

// onEpochEnded starts again: the own znode is gone. If there was a possession, lapsed follows.
func (m *lockMachine) onEpochEnded() {
	m.requests.End()
	m.self = ""
	switch {
	case m.phase == idle || m.phase == over:
	case !m.wanted:
		m.stop(nil)
	default:
		m.phase = idle
	}
}

// leave withdraws the contender, whether it waits or holds.
func (m *lockMachine) leave() {
	m.wanted = false
	switch {
	case m.self != "":
		m.phase = leaving
		m.requests.Ask(machine.Remove{Path: m.self}, leaving)
	case m.phase == idle:
		m.stop(nil)
	}
	// Otherwise the listing tells what to remove.
}

// stop ends the instance. What it leaves in ZooKeeper the host deletes.
func (m *lockMachine) stop(err error) {
	if m.phase != over {
		m.phase, m.self = over, ""
		m.requests.Emit(machine.Stop{Err: err})
	}
}
