package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// txn is a transaction under way. Each writes the journal, so that reading that tells whether it
// was carried out.
type txn struct {
	ops      []machine.Op
	parts    []part                  // what each is for
	next     map[*claim]layout.Claim // what the journal has then; a claim that is missing goes
	settled  []*item
	claims   []*claim // new
	cursor   layout.Cursor
	returned map[string]bool // entries that are claimed
	leaves   bool            // its place in line goes
	last     bool            // the journal goes: it is the end
	items    int             // that are claimed
	inDoubt  bool            // its answer was lost
	size     int             // of what is written anew
	timing   []*item         // they are to go back after a pause, which begins now
	burials  []tail.Addition // dead letters
	frees    int             // how many items that took room are gone
	use      room.Use        // of the room that they gave back
}

// part says what an operation is for.
type part struct {
	kind  kind
	claim *claim
	item  *item
	name  string
	tail  tail.Part
}

type kind int

const (
	ofJournal kind = iota + 1
	ofAlive
	ofCursor
	ofReturned // deletes an entry: it is claimed
	ofItems    // deletes a znode: all of it is settled
	ofID       // deletes what stands for an id
	ofAlone    // makes a znode for one item
	ofBack     // makes an entry
	ofLine
	ofGrave // appends a dead letter
	ofRoom
)

// A transaction has about so many operations, and so many bytes of items at the most.
const (
	most      = 200
	mostBytes = 256 << 10
)

func (t *txn) add(p part, op machine.Op) {
	t.parts = append(t.parts, p)
	t.ops = append(t.ops, op)
}

// write sends a transaction, if something is to be written.
func (m *Machine) write() {
	switch {
	case m.txn != nil && m.txn.inDoubt:
		m.once(machine.Read{Path: m.cfg.Root.Journal(m.own.tag)}, key{purpose: resolving})
		return
	case m.txn != nil:
		return
	}
	t := &txn{next: make(map[*claim]layout.Claim), returned: make(map[string]bool)}
	if m.cfg.Auto {
		m.takeNext()
	}
	changed := m.settleIn(t)
	next, p := m.tend(), m.pick()
	if p.due == 0 || next != 0 && next < p.due {
		p.due = next
	}
	changed = m.claimIn(t, p) || changed
	changed = m.offerIn(t) || changed
	changed = m.lineIn(t) || m.clock.asked || changed
	m.buryIn(t)
	m.roomIn(t)
	switch {
	case m.closing && len(t.next) == 0:
		if m.busy(joining) || m.busy(lining) {
			return // or its place in line would stay
		}
		m.leaveIn(t)
	case !changed:
		return
	default:
		m.journalIn(t)
	}
	m.txn = t
	m.window.received, m.clock.asked = 0, false
	m.requests.Ask(machine.Transact{Ops: t.ops}, key{purpose: writing})
}

// takeNext acknowledges, at most once, what can be handed out then.
func (m *Machine) takeNext() {
	spare := m.spare()
	for _, c := range m.claims {
		if c.unread() {
			return
		}
		for _, i := range c.items {
			if i.how == 0 && spare > 0 && !m.closing && !m.graves.spent(c.Attempts(i.index)) {
				i.how, i.auto = Ack, true
				spare--
			}
		}
	}
}

// claimIn claims what was picked.
func (m *Machine) claimIn(t *txn, p pick) bool {
	if m.line.first() && m.view.known() {
		m.await(p.due)
	}
	if len(p.found) == 0 {
		return false
	}
	for _, f := range p.found {
		c := &claim{Claim: layout.Claim{Entry: f.entry}, name: f.name}
		if f.name != "" {
			c.znode, _ = layout.ParseZnode(f.name)
		}
		if f.returned != "" {
			t.returned[f.returned] = true
			t.add(part{kind: ofReturned, name: f.returned}, machine.Op{
				Do: machine.Delete, Path: m.cfg.Root.Returned() + "/" + f.returned, Version: machine.Any,
			})
		}
		t.claims = append(t.claims, c)
		t.next[c] = c.Claim
		t.items += c.Len()
	}
	if p.cursor != nil {
		t.cursor = p.cursor
		t.add(part{kind: ofCursor}, machine.Op{Do: machine.Set, Path: m.cfg.Root.Cursor(), Data: p.cursor.Bytes(), Version: m.view.version})
	}
	return true
}

// lineIn leaves the line if no room is left, so that the next one looks.
func (m *Machine) lineIn(t *txn) (changed bool) {
	if m.line.path == "" || m.busy(lining) || m.closing || m.free()+len(t.settled) > t.items {
		return false
	}
	t.leaves = true
	t.add(part{kind: ofLine}, machine.Op{Do: machine.Delete, Path: m.line.path, Version: machine.Any})
	return true
}

// offerIn marks what may be handed out next. A mark that nobody waits for is written with something
// else.
func (m *Machine) offerIn(t *txn) (urgent bool) {
	if m.cfg.Auto || m.closing {
		return false
	}
	spare := m.spare()
	urgent = spare > m.window.received && spare > 0
	offered := false
	for _, c := range append(append([]*claim{}, m.claims...), t.claims...) {
		n, ok := t.next[c]
		if !ok {
			continue
		}
		if c.foreign {
			n.Offered = 0
			t.next[c] = n
			continue
		}
		for index := 0; index < layout.MostTogether && spare > 0; index++ {
			bit := uint64(1) << index
			if n.Left()&bit != 0 && n.Offered&bit == 0 && !m.graves.spent(n.Attempts(index)) {
				n.Offered |= bit
				spare--
				offered = true
			}
		}
		t.next[c] = n
	}
	return urgent && offered
}

// journalIn writes the journal as it is then.
func (m *Machine) journalIn(t *txn) {
	j := layout.Journal{Number: m.own.number + 1}
	for _, c := range append(append([]*claim{}, m.claims...), t.claims...) {
		if n, ok := t.next[c]; ok {
			j.Claims = append(j.Claims, n)
		}
	}
	t.add(part{kind: ofJournal}, machine.Op{Do: machine.Set, Path: m.cfg.Root.Journal(m.own.tag), Data: j.Bytes(), Version: m.own.version})
}

// leaveIn ends the consumer.
func (m *Machine) leaveIn(t *txn) {
	t.last = true
	t.add(part{kind: ofJournal}, machine.Op{Do: machine.Delete, Path: m.cfg.Root.Journal(m.own.tag), Version: m.own.version})
	t.add(part{kind: ofAlive}, machine.Op{Do: machine.Delete, Path: m.cfg.Root.Alive(m.own.tag), Version: machine.Any})
	if m.line.path != "" {
		t.add(part{kind: ofLine}, machine.Op{Do: machine.Delete, Path: m.line.path, Version: machine.Any})
	}
}
