package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// graves is the queue of the dead letters.
type graves struct {
	root    layout.Root
	most    int // attempts; 0: any number
	tail    *tail.Tail
	refused bool // for a while: they cannot be written
	tries   int
}

func newGraves(cfg Config) graves {
	return graves{root: cfg.Dead, most: cfg.Attempts, tail: tail.New(cfg.Dead, tail.Usual)}
}

// spent tells whether an item is a dead letter after so many attempts.
func (g *graves) spent(attempts int) bool { return g.most > 0 && attempts >= g.most }

func (g *graves) forget() { g.tail.Forget() }

// fate is what becomes of an item in the next transaction.
type fate int

const (
	stays   fate = iota
	timed        // it goes back once the time is known
	ends         // it is done with
	dies         // it becomes a dead letter
	returns      // it goes back
)

func (m *Machine) fate(i *item) fate {
	attempts := i.claim.Attempts(i.index)
	if i.how == Nack {
		attempts++
	}
	switch {
	case i.how == Ack:
		return ends
	case i.how != Return && m.graves.spent(attempts) && !m.graves.refused:
		if !m.graves.tail.Known() {
			return stays
		}
		return dies
	case i.how == 0:
		return stays
	case i.after > 0 && i.due == 0:
		return timed
	}
	return returns
}

// bury has an item written among the dead letters.
func (m *Machine) bury(t *txn, i *item) {
	c := i.claim
	t.size += i.record.Size()
	t.burials = append(t.burials, tail.Addition{
		Lane: place.Lane{Priority: c.Bucket.Lane.Priority}, Head: layout.Znode{GUID: c.znode.Item(i.index), Count: 1}.Head(),
		Data: layout.Pack([]layout.Record{i.record}), Items: 1,
	})
}

func (m *Machine) buryIn(t *txn) {
	ops, parts := m.graves.tail.Append(t.burials)
	for n, op := range ops {
		t.add(part{kind: ofGrave, tail: parts[n]}, op)
	}
}

// dig asks for what has to be known of the dead letters, if there are any to write.
func (m *Machine) dig() {
	g := &m.graves
	if g.most == 0 || g.refused || g.tail.Known() || m.requests.Pending(key{preparing, g.root.Work()}) {
		return
	}
	for _, c := range m.claims {
		for _, i := range c.items {
			if i.how == Nack && g.spent(c.Attempts(i.index)+1) || i.how == 0 && g.spent(c.Attempts(i.index)) {
				m.once(machine.List{Path: g.root.Work()}, key{purpose: digging})
				return
			}
		}
	}
}

func (m *Machine) onDug(ev machine.Listed) {
	switch ev.Code {
	case machine.Done:
		m.graves.tail.Listed(ev.Names)
	case machine.NoNode:
		m.makeGraves()
	default:
		m.grieve(ev.Err)
	}
}

func (m *Machine) makeGraves() {
	path := m.graves.root.Work()
	m.once(machine.Ensure{Path: path}, key{preparing, path})
}

// grieve: dead letters cannot be written for a while. What should become one stays, and others go
// on.
func (m *Machine) grieve(err error) {
	g := &m.graves
	g.refused = true
	g.tries++
	g.tail.Forget()
	m.requests.Emit(Skipped{Path: string(g.root), Err: err})
	m.requests.Ask(machine.Wake{Try: g.tries}, key{purpose: grieving})
}

// buryFailed: a transaction failed for an operation on the dead letters.
func (m *Machine) buryFailed(p tail.Part, ev machine.Transacted) {
	if ev.Code == machine.Refused {
		m.grieve(ev.Err)
		return
	}
	if m.graves.tail.Failed(p, ev.Code) {
		m.graves.tail.Forget()
		m.makeGraves()
	}
}
