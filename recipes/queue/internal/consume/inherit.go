package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// inherit returns what consumers had claimed that are dead: their journals have no ephemeral znode
// beside them any more. Tags are not used twice, so that this is for good.
func (m *Machine) inherit() {
	for _, tag := range m.view.journals {
		if tag == m.own.tag || m.view.alive[tag] || m.heirs[tag] {
			continue
		}
		m.heirs[tag] = true
		m.requests.Ask(machine.Read{Path: m.cfg.Root.Journal(tag)}, key{opening, tag})
	}
}

func (m *Machine) onOpened(tag string, ev machine.Seen) {
	j, ok := layout.ParseJournal(ev.Data)
	switch {
	case ev.Code != machine.Done:
		delete(m.heirs, tag)
		m.refused(ev.Path, ev.Err)
		return
	case !ev.Exists:
		return // somebody else was faster
	case !ok:
		m.report(m.cfg.Root.Journals(), []string{tag}, func(string) bool { return false })
		return
	}
	ops := []machine.Op{{Do: machine.Delete, Path: ev.Path, Version: ev.Stat.Version}}
	for _, c := range j.Claims {
		ops = append(ops, machine.Op{Do: machine.Create, Path: m.backPath(c.Back())})
	}
	m.requests.Ask(machine.Transact{Ops: ops}, key{inheriting, tag})
}

func (m *Machine) onInherited(tag string, ev machine.Transacted) {
	switch ev.Code {
	case machine.Done, machine.NoNode:
	case machine.Refused:
		delete(m.heirs, tag)
		m.refused(m.cfg.Root.Journal(tag), ev.Err)
	default: // somebody else was faster, or the answer was lost: look again
		delete(m.heirs, tag)
		m.pause()
	}
}

func (m *Machine) backPath(r layout.Returned) string {
	return m.cfg.Root.Returned() + "/" + r.Name()
}
