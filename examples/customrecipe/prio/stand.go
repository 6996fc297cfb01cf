package prio

import (
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/recipe"
)

// stand puts an own znode into the line. Its name is this attempt's alone, so that it is known
// again when the answer is lost.
func (m *machine) stand() []recipe.Effect {
	m.attempts++
	m.phase, m.own, m.look = standing, "", look{}
	m.head = called(m.claim.ID+"."+strconv.Itoa(m.attempts), m.mode, m.priority)
	return []recipe.Effect{m.create()}
}

func (m *machine) create() recipe.Effect {
	op := recipe.Op{Do: recipe.Create, Path: m.line + "/" + m.head, Ephemeral: true, Sequential: true}
	return recipe.Transact{Epoch: m.epoch, Ask: m.ask(), Ops: []recipe.Op{op}}
}

// onEnsured: the line is there, or the state is.
func (m *machine) onEnsured(ev recipe.Ensured) []recipe.Effect {
	switch {
	case m.phase != standing && m.phase != looking || !m.current(ev.Epoch, ev.Ask):
		return nil
	case ev.Code != recipe.Done:
		return m.fail(ev.Err)
	case m.phase == looking:
		return m.lookAgain()
	case m.given:
		return m.over()
	}
	return []recipe.Effect{m.create()}
}

// onStood: the own znode was made, or it was not.
func (m *machine) onStood(ev recipe.Transacted) []recipe.Effect {
	switch ev.Code {
	case recipe.Done:
		m.own = ev.Results[0].Path[len(m.line)+1:]
		if m.given { // given up meanwhile
			return m.remove()
		}
		return m.lookAgain()
	case recipe.Unknown:
		return []recipe.Effect{recipe.List{Epoch: m.epoch, Ask: m.ask(), Path: m.line}}
	case recipe.NoNode:
		if m.given {
			return m.over()
		}
		return []recipe.Effect{recipe.Ensure{Epoch: m.epoch, Ask: m.ask(), Path: m.line, Container: true}}
	}
	return m.fail(ev.Err)
}

// onSearched: the answer to the creation was lost, and this is what there is.
func (m *machine) onSearched(ev recipe.Listed) []recipe.Effect {
	if ev.Code != recipe.Done && ev.Code != recipe.NoNode {
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
	return []recipe.Effect{m.create()}
}
