package double

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

func (t *stay) wanted() Wanted { return Wanted{Claim: t.claim, Once: t.once} }

func (m *Machine) stayPath() string { return RoundPath(m.cfg.Path, m.stay.round) }

func (m *Machine) party(i int) string { return znode.Join(m.stayPath(), m.stay.names[i]) }

func (m *Machine) enter() {
	m.state, m.main = Inside, 0
	m.stay.regained = false
	m.emit(Enter{
		Claim: m.stay.claim, Epoch: m.epoch, Round: m.stay.round, Path: m.party(m.stay.me), Own: m.stay.names[m.stay.me], Token: m.stay.own, Names: m.stay.names,
	})
}

// mark says that a party is out: this one, because it departs, or another, because its znode is
// gone. Nobody is said to be out twice, so that the version of what it is said under counts them.
func (m *Machine) mark(i int) {
	m.state, m.stay.at = Marking, i
	out := znode.Join(m.stayPath(), departures)
	m.transact(
		machine.Op{Do: machine.Create, Path: znode.Join(out, m.stay.names[i])},
		machine.Op{Do: machine.Set, Path: out, Version: machine.Any},
	)
}

func (m *Machine) onMarked(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		m.counted(ev.Results[1].Stat.Version)
	case machine.NodeExists: // whoever said it may have died before he could close the round
		m.state = Tallying
		m.main = m.read(znode.Join(m.stayPath(), departures), false)
	case machine.NoNode:
		m.over()
	case machine.Unknown:
		m.mark(m.stay.at)
	default:
		m.emit(machine.Stop{Err: ev.Err})
	}
}

func (m *Machine) onTally(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		m.emit(machine.Stop{Err: ev.Err})
	case !ev.Exists:
		m.over()
	default:
		m.counted(ev.Stat.Version)
	}
}

// counted goes on when it is known how many are out.
func (m *Machine) counted(out int32) {
	if int(out) >= len(m.stay.names) {
		m.close()
		return
	}
	m.follow(m.stay.at + 1)
}

// follow looks for the next one in the ring that stands.
func (m *Machine) follow(i int) {
	i %= len(m.stay.names)
	switch {
	case m.closing:
		m.vanish()
	case i == m.stay.me: // all others are gone, and said to be out
		m.close()
	default:
		m.state, m.stay.at = Following, i
		m.main = m.read(m.party(i), true)
	}
}

func (m *Machine) onNeighbour(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		m.emit(machine.Stop{Err: ev.Err})
	case ev.Exists:
		m.state, m.main = Leaving, 0
	default:
		m.mark(m.stay.at)
	}
}

// vanish leaves the ring: whoever watches this party sees it go, and finds it said to be out.
func (m *Machine) vanish() {
	m.state = Clearing
	m.main = m.next()
	m.emit(machine.Remove{Epoch: m.epoch, Ask: m.main, Path: m.party(m.stay.me)})
}

// close deletes the round, in which all are out: everything in one transaction if nobody has died.
func (m *Machine) close() {
	m.state = Closing
	m.stay.tries, m.stay.modest = 0, false
	m.raze(m.stay.names)
}

// raze tells the parties that still stand that the round is over, and deletes them with the rest.
func (m *Machine) raze(standing []string) {
	round := m.stayPath()
	var ops []machine.Op
	for _, name := range standing { // first all of this: a change is the end, a deletion without one a death
		ops = append(ops, machine.Op{Do: machine.Set, Path: znode.Join(round, name), Data: []byte("over"), Version: machine.Any})
	}
	for _, name := range standing {
		ops = append(ops, deletion(znode.Join(round, name)))
	}
	if !m.stay.modest {
		ops = append(ops, razing(round, m.stay.names)...)
	}
	m.transact(ops...)
}

func (m *Machine) onClosed(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		m.over()
		return
	case machine.Refused:
		m.emit(machine.Stop{Err: ev.Err})
		return
	case machine.NotEmpty:
		m.stay.modest = true
	}
	m.stay.tries++
	m.stay.modest = m.stay.modest || m.stay.tries > len(m.stay.names) // somebody deleted parts of it
	m.main = m.list(m.stayPath(), false)
}

// onRemaining tries again with those that are left.
func (m *Machine) onRemaining(ev machine.Listed) {
	standing := slices.DeleteFunc(slices.Clone(ev.Names), func(name string) bool {
		_, member := position(m.stay.names, name)
		return !member
	})
	switch {
	case ev.Code == machine.Refused:
		m.emit(machine.Stop{Err: ev.Err})
	case ev.Code != machine.Done || !slices.Contains(ev.Names, departures) || m.stay.modest && len(standing) == 0:
		m.over()
	default:
		m.raze(standing)
	}
}

// over: every party of the round has departed, or died.
func (m *Machine) over() {
	if m.stay.claim != 0 {
		m.emit(Over{Claim: m.stay.claim})
	}
	m.stay = nil
	m.proceed()
}
