package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// appender is a queue that is appended to.
type appender struct {
	root layout.Root
	*tail.Tail
}

// addition is what is appended for an item.
type addition struct {
	to   *appender
	item *item
	tail.Addition
}

// appendTo appends an item, with a lane for its priority or one for when it is due.
func (t *txn) appendTo(a *appender, i *item, at layout.Item, attempts int) {
	r := i.record
	if r.Attempts = attempts; !i.at.Bucket.Lane.Later {
		r.Priority = i.at.Bucket.Lane.Priority
	}
	data := r.Write()
	t.additions = append(t.additions, addition{a, i, tail.Addition{Lane: at.Bucket.Lane, Head: at.Head(), Data: data}})
	t.size += len(data)
}

// part is what follows from an operation that appends. Dead letters that may not be written are no
// reason to pass over the item.
func (m *Machine) part(a *appender, i *item, failed func(machine.Code)) part {
	p := part{item: i, failed: failed}
	if a == &m.dead {
		p.refused = func(err error) { m.skip(string(a.root), err) }
	}
	return p
}

// moved tells who counts what is in the queue that something is in two places for it, or in none.
func (m *Machine) moved(t *txn) {
	t.once(machine.Op{Do: machine.Set, Path: m.root.Later(), Version: machine.Any}, part{})
}

func (m *Machine) ring(t *txn, a *appender) {
	op := machine.Op{Do: machine.Set, Path: a.root.Bell(), Version: machine.Any}
	t.once(op, m.part(a, nil, func(machine.Code) { m.prepare(a.root) }))
}

// appendAll adds what appends: to each queue together.
func (m *Machine) appendAll(t *txn) {
	for _, a := range []*appender{&m.tail, &m.dead} {
		var all []tail.Addition
		var items []*item
		for _, x := range t.additions {
			if x.to == a {
				all, items = append(all, x.Addition), append(items, x.item)
			}
		}
		ops, parts := a.Append(all)
		for n, op := range ops {
			var i *item
			if parts[n].IsAddition() { // they come in their order
				i, items = items[0], items[1:]
			}
			p := m.part(a, i, func(code machine.Code) {
				if a.Failed(parts[n], code) {
					m.prepare(a.root)
				}
			})
			p.done = func(r machine.Result) { a.Done(parts[n], r) }
			t.add(op, p)
		}
	}
}

// appends tells whether a transaction can append to a queue: one at a time does.
func (m *Machine) appends(a *appender) bool {
	settles := m.under[settling]
	switch {
	case m.under[moving] != nil || settles != nil && len(settles.additions) > 0 || m.ensuring > 0:
		return false
	case !a.Known(): // a listing that is asked for now is not older than what was appended
		m.once(machine.Look{Queries: []machine.Query{
			{Path: a.root.Items(), Children: true}, {Path: a.root.Later(), Children: true},
		}}, key{purpose: listing, at: string(a.root)})
	}
	return a.Known()
}

func (m *Machine) onEnd(root string, ev machine.Looked) {
	a := &m.tail
	if root == string(m.dead.root) {
		a = &m.dead
	}
	items, _ := ev.Answers[0].(machine.Listed)
	later, _ := ev.Answers[1].(machine.Listed)
	for _, l := range []machine.Listed{items, later} {
		switch {
		case l.Code == machine.NoNode:
			m.prepare(a.root)
			return
		case l.Code != machine.Done && a == &m.dead:
			m.skip(root, l.Err)
			return
		case !m.ok(l.Code, l.Path, l.Err):
			return
		}
	}
	a.Listed(items.Names, later.Names)
}

// move moves what is due: whoever has looked does, since nobody stands in line while there is a
// backlog.
func (m *Machine) move() {
	if m.closing || len(m.later.due) == 0 || m.under[moving] != nil || m.busy(fetching) || !m.appends(&m.tail) {
		return
	}
	n := min(len(m.later.due), mostItems)
	if m.search.large {
		n = 1
	}
	m.fetched, m.later.due = m.later.due[:n], nil // the next look shows the rest
	m.Ask(machine.Look{Queries: m.search.queriesOf(m.fetched)}, key{purpose: fetching})
}

// onFetched moves items, in one transaction.
func (m *Machine) onFetched(ev machine.Looked) {
	items, _ := m.search.opened(m.fetched, ev.Answers)
	if len(items) == 0 || !m.appends(&m.tail) {
		m.force = true
		return
	}
	t := &txn{}
	for _, i := range items {
		if !t.fits(i) {
			break
		}
		t.items = append(t.items, i)
		t.add(machine.Op{Do: machine.Delete, Path: i.at.Path(m.root), Version: i.version}, part{item: i, failed: func(machine.Code) {}})
		lane := layout.Lane{Priority: i.record.Priority}
		t.appendTo(&m.tail, i, layout.Item{Bucket: layout.Bucket{Lane: lane}, GUID: i.at.GUID}, i.record.Attempts)
	}
	m.moved(t)
	m.ring(t, &m.tail)
	m.appendAll(t)
	t.done = func([]machine.Result) { m.force = true }
	t.unknown = func() { m.force = true }
	t.forbidden = func(*item, error) {}
	m.send(t, moving)
}
