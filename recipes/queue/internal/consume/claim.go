package consume

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// seek looks for items and claims them, or stands in line if there are none.
func (m *Machine) seek() {
	if m.under[claiming] != nil || m.under[settling].has(thePlace) || m.busy(looking, reading, mending, joining, leaving) {
		return
	}
	l, s := &m.line, &m.search
	switch room := m.room(); {
	case m.doubt:
		m.look(true)
	case room == 0:
		s.drop()
		m.candidates = nil
		m.vain = m.vain && !m.cfg.Takes // how it is when the next is wanted is not known
		if l.path != "" {
			m.Ask(machine.Remove{Path: l.path}, key{purpose: leaving})
			l.left()
		}
	case len(m.candidates) > 0:
		m.claim(room)
	case len(s.free) > 0 && s.losses < 4:
		m.read(min(room, readTogether))
	case s.unended:
		m.look(false)
	case s.losses > 0 || m.force || l.path == "" && !m.vain:
		m.look(true)
	case l.path == "" || m.unlucky && l.known && len(l.ahead) < 2:
		m.unlucky = false
		l.stand()
	case l.looks():
		m.look(true)
	case m.await(l.known && len(l.ahead) < 2, int64(len(l.ahead))*half):
		m.look(true)
	}
}

// look looks for items. One that begins a search counts as in vain, for the first, only if the bell
// was armed before.
func (m *Machine) look(begins bool) {
	if begins {
		m.search.begin()
		m.armed = m.line.armed()
		m.asSecond, m.late = m.late || m.asSecond && m.losses > 0, false
	}
	m.force = false
	m.slots = m.later.toList(m.search.slots)
	m.Ask(machine.Look{Queries: m.search.queries(m.slots)}, key{purpose: looking})
}

func (m *Machine) onLooked(ev machine.Looked) {
	var names [3][]string
	for n := range names {
		l, _ := ev.Answers[n].(machine.Listed)
		if !m.ok(l.Code, l.Path, l.Err) {
			return
		}
		names[n] = l.Names
	}
	m.tries = 0
	rest := ev.Answers[3:]
	m.search.name(names[1], names[2])
	m.later.take(m.search.slots, m.slots, rest[:len(m.slots)])
	m.line.take(names[0])
	for _, b := range m.search.take(rest[len(m.slots):], m.had) {
		m.tidy(machine.Op{Do: machine.Delete, Path: m.root.ClaimsOf(b), Version: machine.Any},
			machine.Op{Do: machine.Delete, Path: m.root.Bucket(b), Version: 1})
	}
	m.found()
}

// found takes in whether a search has found nothing.
func (m *Machine) found() {
	s, l := &m.search, &m.line
	if len(s.free) > 0 || len(m.candidates) > 0 || s.unended || s.losses > 0 {
		return
	}
	m.vain = true
	l.rest = m.armed && l.armed() && len(l.ahead) == 0
}

// read reads the next of what was found.
func (m *Machine) read(n int) {
	if m.large {
		n = 1
	}
	m.picked = m.search.pick(n)
	m.Ask(machine.Look{Queries: m.queriesOf(m.picked)}, key{purpose: reading})
}

func (m *Machine) onRead(ev machine.Looked) {
	items, gone := m.opened(m.picked, ev.Answers)
	for range gone {
		m.search.losses++
	}
	for _, i := range items {
		if m.spent(i.record.Attempts) {
			m.doomed = append(m.doomed, i)
		} else {
			m.candidates = append(m.candidates, i)
		}
	}
	m.found()
}

// claim claims what was read, in one transaction. It takes the item's version, for what was read
// before somebody else's claim, and the claim's name, for what was read after it.
func (m *Machine) claim(room int) {
	t := &txn{}
	for _, i := range m.candidates[:min(room, len(m.candidates))] {
		if len(t.items) > 0 && t.size+len(i.data) > mostBytes {
			break
		}
		t.items = append(t.items, i)
		path := i.at.Path(m.root)
		claim := machine.Op{Do: machine.Create, Path: m.root.Claim(i.at.Bucket, i.at.Seq), Data: []byte(m.cfg.GUID), Ephemeral: true}
		data := layout.Counted(i.data, i.record.Attempts+1)
		t.add(part{what: theItem, item: i}, machine.Op{Do: machine.Set, Path: path, Data: data, Version: i.version})
		t.add(part{what: theClaim, item: i}, claim)
	}
	if l := &m.line; l.path != "" {
		if m.asSecond && len(l.ahead) == 1 { // the first hangs, or it is slow, and joins again
			t.add(part{what: theFirst}, machine.Op{Do: machine.Delete, Path: l.ahead[0], Version: machine.Any})
		}
		t.add(part{what: thePlace}, machine.Op{Do: machine.Delete, Path: l.path, Version: machine.Any})
	}
	m.send(t, claiming)
}

// claimed takes in that a claim was carried out.
func (m *Machine) claimed(t *txn) {
	for _, i := range t.items {
		i.record.Attempts++
		i.version++
		i.data = layout.Counted(i.data, i.record.Attempts)
		m.hold(i)
	}
	m.vain = len(m.candidates) == len(t.items) && len(m.free) == 0 && !m.unended
	m.candidates = nil
	m.won()
}

// outrun takes in that somebody else was faster. What is left of the claim is sent again.
func (m *Machine) outrun(w part, code machine.Code) {
	if b := w.item.at.Bucket; w.what == theClaim && code == machine.NoNode { // its parent was deleted by hand
		m.Ask(machine.Transact{Ops: []machine.Op{
			{Do: machine.Check, Path: m.root.Bucket(b), Version: machine.Any}, {Do: machine.Create, Path: m.root.ClaimsOf(b)},
		}}, key{purpose: mending})
		return
	}
	m.lost()
	m.uncandidate(w.item)
}

func (m *Machine) uncandidate(i *item) {
	m.candidates = slices.DeleteFunc(m.candidates, func(c *item) bool { return c == i })
}
