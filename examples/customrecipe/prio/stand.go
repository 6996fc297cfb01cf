package prio

import (
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// stand creates a znode for the contender. Its name is unique to this attempt, so that it can be
// found if the reply is lost.
func (m *lockMachine) stand() []machine.Effect {
	m.attempts++
	m.phase, m.own, m.look = standing, "", look{}
	m.head = called(m.claim.ID+"."+strconv.Itoa(m.attempts), m.mode, m.priority)
	return []machine.Effect{m.create()}
}

func (m *lockMachine) create() machine.Effect {
	op := machine.Op{Do: machine.Create, Path: m.line + "/" + m.head, Ephemeral: true, Sequential: true}
	return machine.Transact{Epoch: m.epoch, Ask: m.ask(), Ops: []machine.Op{op}}
}

// onEnsured continues when the parent, or the state znode, exists.
func (m *lockMachine) onEnsured(ev machine.Ensured) []machine.Effect {
	switch {
	case m.phase != standing && m.phase != looking || !m.current(ev.Epoch, ev.Ask):
		return nil
	case ev.Code != machine.Done:
		return m.fail(ev.Err)
	case m.phase == looking:
		return m.lookAgain()
	case m.given:
		return m.over()
	}
	return []machine.Effect{m.create()}
}

// onStood handles the reply to the create.
func (m *lockMachine) onStood(ev machine.Transacted) []machine.Effect {
	switch ev.Code {
	case machine.Done:
		m.own = ev.Results[0].Path[len(m.line)+1:]
		if m.given { // withdrawn meanwhile
			return m.remove()
		}
		return m.lookAgain()
	case machine.Unknown:
		return []machine.Effect{machine.List{Epoch: m.epoch, Ask: m.ask(), Path: m.line}}
	case machine.NoNode:
		if m.given {
			return m.over()
		}
		return []machine.Effect{machine.Ensure{Epoch: m.epoch, Ask: m.ask(), Path: m.line, Container: true}}
	}
	return m.fail(ev.Err)
}

// onSearched looks for the znode in a listing, after the reply to its create was lost.
func (m *lockMachine) onSearched(ev machine.Listed) []machine.Effect {
	if ev.Code != machine.Done && ev.Code != machine.NoNode {
		return m.fail(ev.Err)
	}
	i := slices.IndexFunc(ev.Names, func(name string) bool { return strings.HasPrefix(name, m.head) })
	switch {
	case i >= 0:
		m.own = ev.Names[i]
		if m.given {
			return m.remove()
		}
		return m.lookAgain()
	case m.given:
		return m.over()
	}
	return []machine.Effect{m.create()}
}
