package consume

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/session"
)

// moves are the puts that move items elsewhere. Items that are due are moved by one put at a time.
type moves struct {
	puts     map[uint64]put // under way, by number
	lastPut  uint64         // the number given last
	fetched  []layout.Item  // items that are due, and are being read or moved
	underWay bool           // one of puts moves these
	singly   int            // counts down: so many items are moved one at a time, since a move of several was refused, for one of them
}

type put struct {
	Put
	item *item // nil: it moves items that were due
}

// begin has a producer carry out a put. If the epoch ends before, the put may still be carried out,
// but not after another consumer's claim: its transaction deletes the items at their versions.
func (m *Machine) begin(p put) {
	m.moves.lastPut++
	p.No = m.base.cfg.First + m.moves.lastPut
	if !p.Dead {
		p.Names = m.finder.names
	}
	m.moves.puts[p.No] = p
	m.base.Requests.Emit(p.Put)
}

// isDead tells whether an item becomes a dead letter.
func (m *Machine) isDead(i *item) bool {
	return m.holdings.exhausted(i.record.Attempts) && !m.base.avoided[string(m.base.cfg.Dead)] && !m.base.avoided[i.at.Path(m.base.root)]
}

// putAway has items that are claimed put elsewhere: dead letters, and items that pause. An item
// that its producer's session owns is not put elsewhere: it would outlive the producer. So it does
// not pause, and is deleted in the place of becoming a dead letter.
func (m *Machine) putAway() {
	for _, i := range m.holdings.held {
		dead := m.isDead(i)
		if i.how == Nack && dead && i.owned {
			i.how = Ack
		}
		pauses := i.after > 0 && !i.owned
		if i.how != Nack || i.put || !dead && !pauses {
			continue // not settled, or settled where it is: see settle
		}
		p := put{item: i, Put: Put{Dead: dead, Delay: i.after, GUIDs: []string{i.at.GUID}, Items: []layout.Record{i.next()}, With: []machine.Op{
			{Do: machine.Delete, Path: i.at.Path(m.base.root), Version: i.version},
			{Do: machine.Delete, Path: m.base.root.Claim(i.at.Bucket, i.at.Seq), Version: machine.Any},
		}}}
		if dead {
			p.Delay, p.Items[0].Attempts, p.Silent = 0, 0, i.failure == nil
			p.Items[0].Tried = min(i.record.Attempts, m.base.cfg.Attempts) // without the claim that was made only for this move
		}
		if path, _ := m.base.root.ID(i.record.ID); dead && !i.noID {
			p.With = append(p.With, machine.Op{Do: machine.Delete, Path: path, Version: machine.Any})
		}
		i.put = true
		m.begin(p)
	}
}

// gone tells whether nothing was put because an item to be deleted was gone, or was changed.
func gone(err error) bool {
	return errors.Is(err, session.ErrNoNode) || errors.Is(err, session.ErrBadVersion)
}

// onPut takes in the outcome of a put. An item that cannot pause goes back at once, and another
// consumer may have it first.
func (m *Machine) onPut(ev Answer) {
	p, ok := m.moves.puts[ev.No]
	delete(m.moves.puts, ev.No)
	i, stays := p.item, errors.Is(ev.Err, session.ErrNotEmpty) // the item, or its id, has got a child by hand
	switch {
	case !ok:
		return
	case i == nil:
		m.onMoved(ev.Err)
		return
	}
	switch i.put = false; {
	case ev.Err == nil:
		m.holdings.end(i, nil)
	case errors.Is(ev.Err, session.ErrUnknownOutcome): // the put is made again: see unclaimed
		i.doubts()
	case (gone(ev.Err) || stays) && p.Dead && !i.noID: // perhaps that was the id's znode
		i.noID = true
	case gone(ev.Err):
		m.unclaimed(i, false)
	case len(i.failure) > 0 || p.Silent: // perhaps the text makes it too large: the next put is without
		i.failure = []byte{}
	default:
		i.after = 0
		m.base.skip(i.at.Path(m.base.root), ev.Err)
		if p.Dead && !stays {
			m.base.skip(string(m.base.cfg.Dead), ev.Err)
		}
		m.holdings.unsettle(i, ev.Err)
	}
}

// onMoved takes in whether items that are due were moved. The next listing shows the rest.
func (m *Machine) onMoved(err error) {
	m.moves.underWay, m.base.relist = false, true
	m.place.overtake(m.search.asSecond) // in the search for what was moved, too
	switch {
	case err == nil || gone(err) || errors.Is(err, session.ErrUnknownOutcome):
	case len(m.moves.fetched) > 1: // the error does not say for which of them it was
		m.moves.singly = len(m.moves.fetched)
	default:
		m.base.skip(m.moves.fetched[0].Path(m.base.root), err)
	}
}

// move moves items that are due. Each consumer that lists does that, since none waits in line
// while there is a backlog.
func (m *Machine) move() {
	if m.base.closing || len(m.later.due) == 0 || m.moves.underWay || m.base.busy(fetching) {
		return
	}
	n := min(len(m.later.due), mostItems)
	if m.finder.large || m.moves.singly > 0 {
		n = 1
	}
	m.moves.singly = max(m.moves.singly-1, 0)
	m.moves.fetched, m.later.due = m.later.due[:n], nil // the next listing shows the rest
	m.base.Requests.Ask(machine.MultiRead{Queries: m.finder.queriesOf(m.moves.fetched)}, key{purpose: fetching})
}

// onFetched has the items that were read put, in one transaction.
func (m *Machine) onFetched(ev machine.MultiSeen) {
	items, _ := m.finder.opened(m.moves.fetched, ev.Answers)
	if len(items) == 0 {
		m.base.relist = true
		return
	}
	size := 0
	var p put
	for _, i := range items {
		if size += len(i.data); size > mostBytes && len(p.Items) > 0 {
			break
		}
		p.GUIDs, p.Items = append(p.GUIDs, i.at.GUID), append(p.Items, i.record)
		p.With = append(p.With, machine.Op{Do: machine.Delete, Path: i.at.Path(m.base.root), Version: i.version})
	}
	m.moves.underWay = true
	m.begin(p)
}
