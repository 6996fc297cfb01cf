package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// sign makes the own journal, and beside it the ephemeral znode that says that its consumer lives.
func (m *Machine) sign() {
	switch {
	case m.closing && m.removing > 0: // or nobody would look as long as its place is first
	case m.closing:
		m.stop()
	case m.isPreparing(), m.busy(signing), m.busy(checking):
	default:
		m.requests.Ask(machine.Transact{Ops: []machine.Op{
			{Do: machine.Create, Path: m.cfg.Root.Alive(m.own.tag), Ephemeral: true},
			{Do: machine.Create, Path: m.cfg.Root.Journal(m.own.tag), Data: layout.Journal{}.Bytes()},
		}}, key{purpose: signing})
	}
}

func (m *Machine) isPreparing() bool {
	for _, path := range m.cfg.Root.Base() {
		if m.requests.Pending(key{preparing, path}) {
			return true
		}
	}
	return false
}

func (m *Machine) busy(p purpose) bool { return m.requests.Pending(key{purpose: p}) }

func (m *Machine) onSigned(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		m.signed(0)
	case machine.NoNode:
		m.prepare(0)
	case machine.NodeExists, machine.Unknown:
		m.requests.Ask(machine.Read{Path: m.cfg.Root.Journal(m.own.tag)}, key{purpose: checking})
	default:
		m.refused(m.cfg.Root.Journal(m.own.tag), ev.Err)
	}
}

func (m *Machine) onChecked(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		m.refused(ev.Path, ev.Err)
	case ev.Exists:
		m.signed(ev.Stat.Version)
	default: // it was not made, or somebody has deleted it by hand: another tag is nobody's
		m.remove(m.cfg.Root.Alive(m.own.tag))
		m.renew()
	}
}

func (m *Machine) signed(version int32) {
	m.own.made, m.own.version, m.tries = true, version, 0
}

// guard watches the own ephemeral znode. Possessions are guarded by it: whoever deletes it ends
// them. At most once there are none, and what is being taken would be lost with it.
func (m *Machine) guard() {
	if !m.own.guarded && !m.cfg.Auto {
		m.once(machine.Read{Path: m.cfg.Root.Alive(m.own.tag), Watch: true}, key{purpose: guarding})
	}
}

func (m *Machine) onGuarded(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		m.refused(ev.Path, ev.Err)
	case ev.Exists:
		m.own.guarded = true
	default:
		m.unguarded()
	}
}

// unguarded: the own ephemeral znode is gone.
func (m *Machine) unguarded() {
	if m.txn == nil || !m.txn.last { // otherwise that has deleted it, or finds out
		m.lose()
	}
}

// prepare makes the znodes that a queue always has, one after the other.
func (m *Machine) prepare(n int) {
	m.once(machine.Ensure{Path: m.cfg.Root.Base()[n]}, key{preparing, m.cfg.Root.Base()[n]})
}

func (m *Machine) onPrepared(k key, ev machine.Ensured) {
	switch {
	case ev.Code != machine.Done && k.at == m.graves.root.Work():
		m.grieve(ev.Err)
		return
	case ev.Code != machine.Done:
		m.refused(k.at, ev.Err)
		return
	}
	base := m.cfg.Root.Base()
	for n, path := range base {
		if path == k.at && n+1 < len(base) {
			m.prepare(n + 1)
		}
	}
}
