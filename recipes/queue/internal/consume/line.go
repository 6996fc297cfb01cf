package consume

import (
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// line is the own place among the consumers that have room for items. Only the first of them looks
// for some.
type line struct {
	path  string // of the own znode; "": none
	times int    // how often a place was asked for
	ahead string // the one that is watched; "": not known
	head  bool   // nobody is ahead
}

func (l *line) first() bool { return l.head }

func (m *Machine) standInLine() {
	switch {
	case m.txn != nil && m.txn.leaves:
	case m.busy(joining), m.busy(lining), m.busy(following), m.line.head:
	case m.line.path == "" && m.wantsMore():
		m.line.times++
		m.requests.Ask(machine.Transact{Ops: []machine.Op{
			{Do: machine.Create, Path: m.place(), Ephemeral: true, Sequential: true},
		}}, key{purpose: joining})
	case m.line.path != "" && m.line.ahead == "":
		m.list()
	}
}

// wantsMore tells whether there is so much room that a place in line is worth its requests.
func (m *Machine) wantsMore() bool {
	room := m.free()
	_, ahead := m.unsettled()
	return room > 0 && (ahead == 0 || 2*room >= m.window.size)
}

// place is what the name of the own znode in line begins with.
func (m *Machine) place() string {
	return znode.Join(m.cfg.Root.Line(), m.own.tag+"-"+number(uint64(m.line.times))+"-")
}

func (m *Machine) list() {
	m.requests.Ask(machine.List{Path: m.cfg.Root.Line()}, key{purpose: lining})
}

func (m *Machine) onJoined(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		if path := ev.Results[0].Path; strings.HasPrefix(path, m.place()) {
			m.line.path = path
		} else {
			m.remove(path) // it was for a former tag
		}
	case machine.Unknown:
		m.list()
	case machine.NoNode:
		m.prepare(0)
	default:
		m.refused(m.cfg.Root.Line(), ev.Err)
	}
}

func (m *Machine) onLine(ev machine.Listed) {
	if ev.Code != machine.Done && ev.Code != machine.NoNode {
		m.refused(ev.Path, ev.Err)
		return
	}
	_, prefix := znode.Split(m.place())
	var mine, ahead string
	var number int32
	for _, name := range ev.Names {
		switch {
		case strings.HasPrefix(name, prefix):
			mine = name
			_, number, _ = znode.Sequence(name)
		case strings.HasPrefix(name, m.cfg.GUID+"-"): // of a former tag: nobody looks as long as it is first
			m.remove(znode.Join(ev.Path, name))
		}
	}
	m.line = line{times: m.line.times}
	if mine == "" {
		return // it was deleted by hand, or not made
	}
	m.line.path = znode.Join(ev.Path, mine)
	var next int32
	for _, name := range ev.Names { // the numbers begin anew after 2³¹ places
		_, n, ok := znode.Sequence(name)
		if ok && znode.CompareSeq(n, number) < 0 && (ahead == "" || znode.CompareSeq(n, next) > 0) {
			ahead, next = name, n
		}
	}
	if ahead == "" {
		m.line.head = true
		return
	}
	m.line.ahead = znode.Join(ev.Path, ahead)
	m.requests.Ask(machine.Read{Path: m.line.ahead, Watch: true}, key{purpose: following})
}

func (m *Machine) onFollowed(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		m.line.ahead = "" // it is not watched
		m.refused(ev.Path, ev.Err)
	case !ev.Exists && ev.Path == m.line.ahead:
		m.line.ahead = ""
	}
}

// remove deletes an ephemeral znode of its own that stands for nothing any more.
func (m *Machine) remove(path string) {
	if k := (key{removing, path}); !m.requests.Pending(k) {
		m.removing++
		m.requests.Ask(machine.Remove{Path: path}, k)
	}
}

// left: the own znode in line is gone.
func (m *Machine) left() {
	m.line = line{times: m.line.times}
	m.requests.Forget(key{purpose: counting})
	m.later.forget()
	m.view = view{} // nobody else's business from now on; what the watches still say is not heard
}
