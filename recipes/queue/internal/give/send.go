package give

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// What one transaction takes of what waits: far below the 1 MB that a server accepts. One wish
// alone may be larger.
const (
	most     = 256 << 10
	mostJobs = 500
	overhead = 256 // of an item: its path, there and back, and its ACL

	// ballast is left free beside a large item: whoever claims it, or moves it to the dead letters,
	// writes its data again, beside names of other lengths. What he could not write must not be
	// put.
	ballast = 4 << 10
)

// batch is a transaction under way.
type batch struct {
	jobs    []*job
	ops     []machine.Op
	parts   []part // what each operation is for
	uses    []room.Use
	seals   map[*lane]bool
	loads   map[*lane]load
	receipt bool
	nos     []uint64 // of the wishes that the receipt is for
}

// part says what an operation is for.
type part struct {
	kind kind
	lane *lane
	job  *job
	use  room.Use
	id   string
}

type kind int

const (
	theReceipt kind = iota
	theAlive
	theBucket // checked or sealed
	newBucket
	nextBucket
	theRoom
	theAlso
	theID
	theItem // or a pack of them
)

func (b *batch) add(p part, op machine.Op) {
	b.parts = append(b.parts, p)
	b.ops = append(b.ops, op)
}

// send makes one transaction of what waits.
func (m *Machine) send() []machine.Effect {
	if m.bounded {
		if at := slices.IndexFunc(m.jobs, func(j *job) bool { return j.items[0].Ephemeral }); at >= 0 {
			return append(m.settle(m.jobs[at], ErrEphemeral), m.next()...)
		}
	}
	b := &batch{seals: make(map[*lane]bool), loads: make(map[*lane]load)}
	n, full := m.choose(b)
	if full {
		return m.proveFull(b.jobs[0])
	}
	if b.receipt = slices.ContainsFunc(b.jobs, func(j *job) bool { return !j.move }); b.receipt {
		m.sign(b)
	}
	m.open(b)
	if m.bounded && n > 0 {
		b.uses, _ = m.room.Take(n)
		for _, u := range b.uses {
			b.add(part{kind: theRoom, use: u}, u.Op)
		}
	}
	for _, j := range b.jobs {
		m.fill(b, j)
	}
	m.clock = 0
	m.batch = b
	ask := m.ask(func(ev machine.Event) []machine.Effect { return m.sent(ev.(machine.Transacted)) })
	return []machine.Effect{Sending{Nos: b.nos}, machine.Transact{Epoch: m.epoch, Ask: ask, Ops: b.ops}}
}

// choose takes what fits together, in order; n is how much room it takes. full: not even the first
// fits into the queue.
func (m *Machine) choose(b *batch) (n int, full bool) {
	size := 0
	for _, j := range m.jobs {
		if len(b.jobs) > 0 && (m.solo || size+j.size > most || len(b.jobs) == mostJobs || j.delayed() && !j.timed) {
			break
		}
		if m.bounded && !j.move {
			if _, fits := m.room.Take(n + len(j.items)); !fits {
				if len(b.jobs) == 0 {
					b.jobs = append(b.jobs, j)
					return 0, true
				}
				break
			}
			n += len(j.items)
		}
		b.jobs = append(b.jobs, j)
		size += j.size
	}
	return n, false
}

// sign writes the receipt.
func (m *Machine) sign(b *batch) {
	for _, j := range b.jobs {
		if !j.move {
			b.nos = append(b.nos, j.no)
		}
	}
	path := m.cfg.Site.Receipt(m.cfg.GUID)
	data := fmtNumbers(b.nos)
	if slices.ContainsFunc(b.jobs, (*job).large) {
		data = append(data, bytes.Repeat([]byte(" "), ballast)...) // whoever reads it takes no notice
	}
	b.add(part{kind: theReceipt}, machine.Op{Do: machine.Set, Path: path, Data: data, Version: m.receipt.version})
	if !m.receipt.alive {
		b.add(part{kind: theAlive}, machine.Op{Do: machine.Create, Path: fmt.Sprintf("%s/alive-%x", path, uint64(m.session)), Ephemeral: true})
	}
}

// large tells whether an item is among those to be put that may be too large to be claimed.
func (j *job) large() bool {
	return slices.ContainsFunc(j.items, func(i Item) bool { return len(i.Data) > most })
}

// open checks each lane's open bucket, makes it if it is missing, and seals it if it will be full.
func (m *Machine) open(b *batch) {
	if m.cfg.Site.Flat != "" {
		return
	}
	coming := make(map[*lane]load)
	var order []*lane
	for _, j := range b.jobs {
		for _, c := range j.crates() {
			n := m.laneOf(c.items[0])
			l, some := coming[n]
			if !some {
				order = append(order, n)
			}
			coming[n] = load{l.znodes + 1, l.items + len(c.items)}
		}
	}
	for _, n := range order {
		path := m.cfg.Site.bucket(n.bucket)
		if n.missing {
			b.add(part{kind: newBucket, lane: n}, machine.Op{Do: machine.Create, Path: path})
		}
		b.loads[n] = coming[n]
		if b.seals[n] = n.fullWith(coming[n], m.cfg.Limit); !b.seals[n] {
			if !n.missing {
				b.add(part{kind: theBucket, lane: n}, machine.Op{Do: machine.Check, Path: path, Version: 0})
			}
			continue
		}
		b.add(part{kind: theBucket, lane: n}, machine.Op{Do: machine.Set, Path: path, Version: 0})
		if !n.hasNext {
			b.add(part{kind: nextBucket, lane: n}, machine.Op{Do: machine.Create, Path: m.cfg.Site.bucket(n.bucket.Next())})
		}
	}
}

func (m *Machine) laneOf(i Item) *lane {
	l := place.Lane{Priority: i.Priority, Shard: i.Shard}
	if i.Delay > 0 {
		l = place.SlotOf(m.clock, i.Delay)
	}
	return m.lanes.of(l, m.top)
}

// fill adds the operations of one wish.
func (m *Machine) fill(b *batch, j *job) {
	for _, op := range j.also {
		b.add(part{kind: theAlso, job: j}, op)
	}
	for _, c := range j.crates() {
		n, i := m.laneOf(c.items[0]), c.items[0]
		if c.packed {
			op := machine.Op{Do: machine.Create, Path: znode.Join(m.cfg.Site.bucket(n.bucket), c.name()), Data: c.data(), Sequential: true}
			b.add(part{kind: theItem, job: j, lane: n}, op)
			continue
		}
		named := place.Item{GUID: i.GUID, Priority: i.Priority, ID: i.ID, Due: place.Due(m.clock, i.Delay)}
		if i.ID != "" && !j.move {
			path := m.cfg.Site.Root.ID(i.ID)
			b.add(part{kind: theID, job: j, id: path}, machine.Op{Do: machine.Create, Path: path, Data: []byte(i.GUID)})
		}
		b.add(part{kind: theItem, job: j, lane: n}, machine.Op{
			Do: machine.Create, Path: m.cfg.Site.head(n.bucket, named), Data: i.Data, Sequential: true, Ephemeral: i.Ephemeral,
		})
	}
}

// proveFull asks whether the queue is as full as it is believed to be, in all parts at one instant.
// Of a wish that was in doubt also whether it is still not carried out: the room may have gone to
// it.
func (m *Machine) proveFull(j *job) []machine.Effect {
	ops := m.room.Proof()
	parts := len(ops)
	if j.again {
		ops = append(ops, machine.Op{Do: machine.Check, Path: m.cfg.Site.Receipt(m.cfg.GUID), Version: m.receipt.version})
	}
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		switch t := ev.(machine.Transacted); t.Code {
		case machine.Done:
			return m.settle(j, ErrFull)
		case machine.BadVersion:
			if t.Failed >= 0 && t.Failed < parts {
				m.room.Forget(t.Failed)
				return nil
			}
		case machine.Refused:
			return m.refused(t.Err)
		}
		j.doubt = j.again
		m.room.ForgetAll()
		m.listed = false
		return nil
	})
	return []machine.Effect{machine.Transact{Epoch: m.epoch, Ask: ask, Ops: ops}}
}
