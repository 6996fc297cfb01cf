package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// end is a queue that is appended to.
type end struct {
	root layout.Root
	*tail.Tail
}

// addition is what is appended for an item.
type addition struct {
	end  *end
	item *item
	tail.Addition
}

// appendTo appends an item, with a lane for its priority or one for when it is due.
func (t *txn) appendTo(e *end, i *item, at layout.Item, attempts int) {
	r := i.record
	if r.Attempts = attempts; !i.at.Bucket.Lane.Later {
		r.Priority = i.at.Bucket.Lane.Priority
	}
	data := r.Write()
	t.additions = append(t.additions, addition{e, i, tail.Addition{Lane: at.Bucket.Lane, Head: at.Head(), Data: data}})
	t.size += len(data)
}

// bury makes a dead letter of an item. Nobody has received it from the queue that it is in then.
func (t *txn) bury(dead *end, i *item) {
	t.appendTo(dead, i, layout.Item{Bucket: layout.Bucket{Lane: layout.Lane{Priority: i.at.Bucket.Lane.Priority}}, GUID: i.at.GUID}, 0)
	t.ring(dead)
}

// postpone makes an item one that is not due.
func (t *txn) postpone(own *end, i *item) {
	t.appendTo(own, i, layout.Item{Bucket: layout.Bucket{Lane: layout.SlotOf(i.due-i.after, i.after)}, GUID: i.at.GUID, Due: i.due}, i.record.Attempts)
	t.moved(own)
}

// moved tells who counts what is in the queue that something is in two places for it, or in none.
func (t *txn) moved(own *end) {
	t.once(part{what: theParent, end: own}, machine.Op{Do: machine.Set, Path: own.root.Later(), Version: machine.Any})
}

func (t *txn) ring(e *end) {
	t.once(part{what: theBell, end: e}, machine.Op{Do: machine.Set, Path: e.root.Bell(), Version: machine.Any})
}

// appendAll adds what appends: of each queue together.
func (t *txn) appendAll() {
	for len(t.additions) > 0 {
		e := t.additions[0].end
		var all []tail.Addition
		var items []*item
		var others []addition
		for _, a := range t.additions {
			if a.end == e {
				all, items = append(all, a.Addition), append(items, a.item)
			} else {
				others = append(others, a)
			}
		}
		ops, parts := e.Append(all)
		for n, op := range ops {
			p := part{what: appended, end: e, tail: parts[n]}
			if parts[n].IsAddition() {
				p.item, items = items[0], items[1:]
			}
			t.add(p, op)
		}
		t.additions = others
	}
}

// appends tells whether a transaction can append to a queue: one at a time does.
func (m *Machine) appends(e *end) bool {
	switch {
	case m.under[moving] != nil || m.under[settling].has(appended) || m.ensuring > 0:
		return false
	case !e.Known(): // a listing that is asked for now is not older than what was appended
		m.once(machine.Look{Queries: []machine.Query{
			{Path: e.root.Items(), Children: true}, {Path: e.root.Later(), Children: true},
		}}, key{listing, string(e.root)})
	}
	return e.Known()
}

func (m *Machine) onEnd(root string, ev machine.Looked) {
	e := &m.tail
	if root == string(m.dead.root) {
		e = &m.dead
	}
	items, _ := ev.Answers[0].(machine.Listed)
	later, _ := ev.Answers[1].(machine.Listed)
	for _, l := range []machine.Listed{items, later} {
		switch {
		case l.Code == machine.NoNode:
			m.prepare(e.root)
			return
		case l.Code != machine.Done && e == &m.dead:
			m.skip(root, l.Err)
			return
		case !m.ok(l.Code, l.Path, l.Err):
			return
		}
	}
	e.Listed(items.Names, later.Names)
}

// buries tells whether an item is a dead letter after so many attempts, and can become one.
func (m *Machine) buries(attempts int) bool {
	return m.spent(attempts) && !m.avoided[string(m.dead.root)]
}

// unappended takes in that something could not be appended.
func (m *Machine) unappended(p part, ev machine.Transacted) {
	switch {
	case ev.Code == machine.Refused && p.end == &m.dead:
		m.skip(string(m.dead.root), ev.Err)
	case ev.Code == machine.Refused:
		m.refused(string(p.end.root), ev.Err)
	case p.what != appended || p.end.Failed(p.tail, ev.Code):
		m.prepare(p.end.root)
	}
}

// move moves what is due, and what has had all its attempts: whoever has looked does, since nobody
// stands in line while there is a backlog.
func (m *Machine) move() {
	if m.under[moving] != nil || m.busy(fetching) || m.closing {
		return
	}
	switch {
	case len(m.doomed) > 0 && m.avoided[string(m.dead.root)]:
		for _, i := range m.doomed {
			m.avoided[i.at.Path(m.root)] = true
		}
		m.doomed = nil
	case len(m.doomed) > 0:
		if m.appends(&m.dead) {
			m.sendMoved(m.doomed)
		}
	case len(m.due) > 0 && m.appends(&m.tail):
		n := min(len(m.due), most)
		if m.large {
			n = 1
		}
		m.fetched, m.due = m.due[:n], nil
		m.Ask(machine.Look{Queries: m.queriesOf(m.fetched)}, key{purpose: fetching})
	}
}

func (m *Machine) onFetched(ev machine.Looked) {
	items, _ := m.opened(m.fetched, ev.Answers)
	if len(items) > 0 && m.appends(&m.tail) {
		m.sendMoved(items)
	} else {
		m.force = true
	}
}

// sendMoved moves items, in one transaction. What is left the next look shows.
func (m *Machine) sendMoved(items []*item) {
	t := &txn{}
	for _, i := range items {
		if t.full() || len(t.items) > 0 && t.size+len(i.data) > mostBytes {
			break
		}
		t.items = append(t.items, i)
		t.add(part{what: theItem, item: i}, machine.Op{Do: machine.Delete, Path: i.at.Path(m.root), Version: i.version})
		if !i.at.Bucket.Lane.Later {
			t.exclude(i, machine.Op{Do: machine.Create, Path: m.root.Claim(i.at.Bucket, i.at.Seq), Ephemeral: true})
			t.free(m.root, i)
			t.bury(&m.dead, i)
			continue
		}
		lane := layout.Lane{Priority: i.record.Priority}
		t.appendTo(&m.tail, i, layout.Item{Bucket: layout.Bucket{Lane: lane}, GUID: i.at.GUID}, i.record.Attempts)
		t.moved(&m.tail)
		t.ring(&m.tail)
	}
	t.appendAll()
	m.doomed = nil
	m.send(t, moving)
}
