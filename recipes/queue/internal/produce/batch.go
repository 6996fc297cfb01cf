package produce

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// batch is a transaction under way.
type batch struct {
	puts  []*put
	ops   []machine.Op
	parts []part // what each operation is for
}

// part says what an operation is for.
type part struct {
	kind kind
	put  *put // whose own it is; nil: of several
	use  room.Use
	tail tail.Part
}

type kind int

const (
	theReceipt kind = iota + 1
	theAlive
	theQueue // checked: no capacity was set
	theRoom
	theGuard
	theID
	theTail
)

func (b *batch) add(p part, ops ...machine.Op) {
	for _, op := range ops {
		b.parts = append(b.parts, p)
		b.ops = append(b.ops, op)
	}
}

// send makes one transaction of what waits.
func (m *Machine) send() {
	bounded := m.limit.capacity > 0
	if bounded && m.refuseEphemeral() {
		m.proceed()
		return
	}
	b := &batch{}
	items := m.choose(b)
	if len(b.puts) == 0 {
		m.proveFull()
		return
	}
	set, alive := m.receipt.sign(b.puts, m.session)
	b.add(part{kind: theReceipt}, set)
	b.add(part{kind: theAlive}, alive...)
	switch {
	case bounded && items > 0:
		uses, _ := m.limit.room.Take(items)
		for _, u := range uses {
			b.add(part{kind: theRoom, use: u}, u.Op)
		}
	case !bounded:
		b.add(part{kind: theQueue}, machine.Op{Do: machine.Check, Path: m.cfg.Root.Work(), Version: m.limit.version})
	}
	m.fill(b, bounded)
	m.clock = 0
	m.batch = b
	var nos []uint64
	for _, p := range b.puts {
		nos = append(nos, p.no)
	}
	m.requests.Emit(Sending{Nos: nos})
	m.ask(machine.Transact{Ops: b.ops}, key{purpose: writing})
}

// refuseEphemeral refuses what a bounded queue does not take, once that was looked at while it was
// waiting. True: it is to be looked at, or nothing waits any more.
func (m *Machine) refuseEphemeral() bool {
	again := false
	for _, p := range slices.Clone(m.puts) {
		switch {
		case !p.ephemeral():
		case p.bound:
			m.settle(p, ErrEphemeral)
		default:
			again = true
		}
	}
	if again {
		m.forget()
	}
	return again || len(m.puts) == 0
}

// choose takes what fits together, in order, and returns how much room that takes. Nothing is taken
// if not even the first fits into the queue. Two of one id do not fit together: whether the second
// is a duplicate is known when the first is put.
func (m *Machine) choose(b *batch) (items int) {
	limit, size := mostPuts, 0
	if m.suspects > 0 {
		limit = (m.suspects + 1) / 2
	}
	ids := make(map[string]bool)
	for _, p := range m.puts {
		if len(b.puts) > 0 && (size+p.size > most || len(b.puts) >= limit || p.delayed() && !p.timed || p.shares(ids)) {
			break
		}
		if m.limit.capacity > 0 {
			if _, fits := m.limit.room.Take(items + p.room()); !fits {
				break
			}
		}
		for _, i := range p.items {
			ids[i.ID] = i.ID != ""
		}
		b.puts = append(b.puts, p)
		items += p.room()
		size += p.size
	}
	return items
}

// shares tells whether one of its items has one of these ids.
func (p *put) shares(ids map[string]bool) bool {
	return slices.ContainsFunc(p.items, func(i Item) bool { return ids[i.ID] })
}

// fill adds the operations of the puts themselves.
func (m *Machine) fill(b *batch, bounded bool) {
	var all []tail.Addition
	var owners []*put
	for _, p := range b.puts {
		b.add(part{kind: theGuard, put: p}, p.under...)
		for n, i := range p.items {
			if i.ID != "" {
				b.add(part{kind: theID, put: p}, machine.Op{
					Do: machine.Create, Path: m.cfg.Root.ID(i.ID), Data: []byte(p.item(n)), Ephemeral: i.Ephemeral,
				})
			}
		}
	}
	for _, h := range neighbours(b.puts) {
		a, o := h.znodes(m.share(h), bounded && !h[0].back, m.clock)
		all, owners = append(all, a...), append(owners, o...)
	}
	ops, parts := m.tail.Append(all)
	for n, op := range ops {
		p := part{kind: theTail, tail: parts[n]}
		if p.tail.IsAddition() { // they come in their order
			p.put, owners = owners[0], owners[1:]
		}
		b.add(p, op)
	}
}

// proveFull asks whether the queue is as full as it is believed to be, in all parts at one instant.
// Of a put that was in doubt also whether it is still not carried out: it may have taken the room.
func (m *Machine) proveFull() {
	for _, p := range m.puts {
		p.full = true
	}
	ops := append(m.limit.room.Proof(), machine.Op{Do: machine.Check, Path: m.receipt.path, Version: m.receipt.version})
	m.ask(machine.Transact{Ops: ops}, key{purpose: proving})
}

func (m *Machine) onProven(ev machine.Transacted) {
	switch {
	case ev.Code == machine.Done:
		for _, p := range slices.Clone(m.puts) { // it was full when they were waiting
			if _, fits := m.limit.room.Take(len(p.items)); p.full && !fits {
				m.settle(p, ErrFull)
			}
		}
		return
	case ev.Code == machine.Refused:
		m.refused(ev.Err)
		return
	case ev.Code == machine.BadVersion && ev.Failed >= 0 && ev.Failed < place.Stripes:
		m.limit.room.Forget(ev.Failed)
		return
	case ev.Failed == place.Stripes:
		m.receipt.failed(ev.Code)
	}
	for _, p := range m.puts {
		p.doubt = p.again
	}
	m.forget()
}
