package prio

import (
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// stand creates a znode for the contender. Its name is unique to this attempt, so that it can be
// found if the reply is lost.
func (m *lockMachine) stand() {
	m.attempts++
	m.phase, m.self, m.look = standing, "", look{}
	m.head = called(m.claim.ID+"."+strconv.Itoa(m.attempts), m.mode, m.priority)
	m.create()
}

func (m *lockMachine) create() {
	op := machine.Op{Do: machine.Create, Path: m.line + "/" + m.head, Ephemeral: true, Sequential: true}
	m.requests.Ask(machine.Transact{Ops: []machine.Op{op}}, creating)
}

// onEnsured continues when the parent, or the state znode, exists.
func (m *lockMachine) onEnsured(key purpose, ev machine.Ensured) {
	switch {
	case key == readingState && m.phase != looking:
	case ev.Code != machine.Done:
		m.fail(ev.Err)
	case key == readingState:
		m.lookAgain()
	case m.given:
		m.over()
	default:
		m.create()
	}
}

// onStood handles the reply to the create.
func (m *lockMachine) onStood(ev machine.Transacted) {
	switch {
	case ev.Code == machine.Done:
		m.stood(ev.Results[0].Path[len(m.line)+1:])
	case ev.Code == machine.Unknown:
		m.requests.Ask(machine.List{Path: m.line}, creating)
	case ev.Code == machine.NoNode && m.given:
		m.over()
	case ev.Code == machine.NoNode:
		m.requests.Ask(machine.Ensure{Path: m.line, Container: true}, creating)
	default:
		m.fail(ev.Err)
	}
}

// stood continues when the name of the own znode is known.
func (m *lockMachine) stood(name string) {
	m.self = name
	if m.given { // withdrawn meanwhile
		m.remove()
		return
	}
	m.lookAgain()
}

// onSearched looks for the znode in a listing, after the reply to its create was lost.
func (m *lockMachine) onSearched(ev machine.Listed) {
	i := slices.IndexFunc(ev.Names, func(name string) bool { return strings.HasPrefix(name, m.head) })
	switch {
	case ev.Code != machine.Done && ev.Code != machine.NoNode:
		m.fail(ev.Err)
	case i >= 0:
		m.stood(ev.Names[i])
	case m.given:
		m.over()
	default:
		m.create()
	}
}
