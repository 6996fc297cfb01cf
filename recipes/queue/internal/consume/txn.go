package consume

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// txn is a transaction under way. Each writes the journal, so that reading that tells whether it
// was carried out.
type txn struct {
	*parts
	ops      []machine.Op
	whys     []why                   // what each is for
	next     map[*claim]layout.Claim // what the journal has then; a claim that is missing goes
	settled  []*item
	claims   []*claim // new
	cursor   layout.Cursor
	from     int32           // the version of the one that it is claimed from
	returned map[string]bool // entries that are claimed
	leaves   bool            // its place in line goes
	joins    bool            // it gets one
	last     bool            // the journal goes: it is the end
	items    int             // that are claimed
	inDoubt  bool            // its answer was lost
	size     int             // of what is written anew
	timing   []*item         // they are to go back after a pause, which begins now
	burials  []tail.Addition // dead letters
	frees    int             // how many items that took room are gone
	use      room.Use        // of the room that they gave back
}

// parts are those that a transaction is made from.
type parts struct {
	own    own
	line   line
	view   view
	book   book
	graves graves
	space  space
}

// why says what an operation is for.
type why struct {
	kind  kind
	claim *claim
	item  *item
	index int     // of an item that was removed
	run   []*item // that share a znode
	tail  tail.Part
}

type kind int

const (
	ofJournal kind = iota + 1
	ofAlive
	ofCursor
	ofReturned // deletes an entry: it is claimed
	ofItems    // deletes a znode: all of it is settled
	ofMark     // deletes what says that an item was removed
	ofID       // deletes what stands for an id
	ofAlone    // makes a znode for a part of one
	ofBack     // makes an entry
	ofLine
	ofPlace // makes the own place in line
	ofGrave // appends a dead letter
	ofRoom
)

// A transaction has about so many operations, and so many bytes of items at the most.
const (
	most      = 200
	mostBytes = 256 << 10
)

func newTxn(p *parts) *txn {
	return &txn{parts: p, next: make(map[*claim]layout.Claim), returned: make(map[string]bool)}
}

func (t *txn) add(w why, op machine.Op) {
	t.whys = append(t.whys, w)
	t.ops = append(t.ops, op)
}

// claim claims what was picked.
func (t *txn) claim(p pick) (changed bool) {
	for _, f := range p.found {
		c := newClaim(f)
		if f.returned != "" {
			t.returned[f.returned] = true
			t.add(why{kind: ofReturned}, machine.Op{
				Do: machine.Delete, Path: znode.Join(t.own.root.Returned(), f.returned), Version: machine.Any,
			})
		}
		t.claims = append(t.claims, c)
		t.next[c] = c.Claim
		t.items += c.Len()
	}
	if p.cursor != nil {
		t.cursor, t.from = p.cursor, t.view.version
		t.add(why{kind: ofCursor}, machine.Op{Do: machine.Set, Path: t.own.root.Cursor(), Data: p.cursor.Bytes(), Version: t.view.version})
	}
	return len(p.found) > 0
}

// room is how many more items can be claimed then.
func (t *txn) room() int { return t.book.free() + len(t.settled) - t.items }

// leave leaves the line if that has no use: at the end, or without room. Who is first without room
// stays, as long as it knows of nothing that another one could claim.
func (t *txn) leave(more bool) (changed bool) {
	switch {
	case t.line.path == "", t.own.busy(lining):
		return false
	case t.own.closing:
	case t.room() > 0, t.line.first && !more:
		return false
	}
	t.leaves = true
	t.add(why{kind: ofLine}, machine.Op{Do: machine.Delete, Path: t.line.path, Version: machine.Any})
	return true
}

// join stands in line again, where something is settled anyway.
func (t *txn) join() {
	if len(t.settled) > 0 && t.line.path == "" && !t.own.closing && !t.line.joining() && t.book.window.wants(t.room(), 0) {
		t.joins = true
		t.add(why{kind: ofPlace}, t.line.join())
	}
}

// all are the claims that there were, and the new ones.
func (t *txn) all() []*claim {
	return append(append([]*claim{}, t.book.claims...), t.claims...)
}

// mark takes back the marks of items that lie without a receiver, and marks those that have found
// one since.
func (t *txn) mark() (changed bool) {
	for _, c := range t.book.claims {
		n, ok := t.next[c]
		if !ok {
			continue
		}
		for _, i := range c.items {
			if !i.lay || i.how != 0 || n.Left()&i.bit() == 0 || i.taken == (n.Offered&i.bit() != 0) {
				continue
			}
			n.Offered ^= i.bit()
			changed = true
		}
		t.next[c] = n
	}
	return changed
}

// offer marks what may be handed out next. A mark that nobody waits for is written with something
// else.
func (t *txn) offer() (urgent bool) {
	if t.own.unheld || t.own.closing {
		return false
	}
	urgent = t.mark()
	return t.offerNext() || urgent
}

func (t *txn) offerNext() (urgent bool) {
	lie, _ := t.book.offered()
	spare := t.book.spare()
	urgent = spare > 0 && (lie == 0 || !t.book.window.stream)
	offered := false
	for _, c := range t.all() {
		n, ok := t.next[c]
		if !ok {
			continue
		}
		if c.foreign {
			n.Offered = 0
			t.next[c] = n
			continue
		}
		wished := c.wished() | c.out()
		for index := 0; index < layout.MostTogether && spare > 0; index++ {
			bit := uint64(1) << index
			if n.Left()&bit != 0 && (n.Offered|wished)&bit == 0 && !t.graves.spent(n.Attempts(index)) {
				n.Offered |= bit
				spare--
				offered = true
			}
		}
		t.next[c] = n
	}
	return urgent && offered
}

// bury appends the dead letters.
func (t *txn) bury() {
	ops, parts := t.graves.tail.Append(t.burials)
	for n, op := range ops {
		t.add(why{kind: ofGrave, tail: parts[n]}, op)
	}
}

// give gives back the room of what is gone with the transaction.
func (t *txn) give() {
	if t.frees == 0 {
		return
	}
	if t.space.none {
		t.space.none = false // for the next one it is looked for again
		return
	}
	t.use = t.space.room.Give(t.frees)
	t.add(why{kind: ofRoom}, t.use.Op)
}

// keeps tells whether nothing is given to others.
func (t *txn) keeps() bool {
	n := 0
	for _, c := range t.next {
		n += c.Len()
	}
	return t.book.window.fixed() && n <= t.book.window.size
}

// write writes the journal as it is then.
func (t *txn) write() {
	j := layout.Journal{Number: t.own.number + 1, Fixed: t.keeps()}
	for _, c := range t.all() {
		if n, ok := t.next[c]; ok {
			j.Claims = append(j.Claims, n)
		}
	}
	t.add(why{kind: ofJournal}, machine.Op{Do: machine.Set, Path: t.own.journal(), Data: j.Bytes(), Version: t.own.version})
}

// end ends the consumer.
func (t *txn) end() {
	t.last = true
	t.add(why{kind: ofJournal}, machine.Op{Do: machine.Delete, Path: t.own.journal(), Version: t.own.version})
	t.add(why{kind: ofAlive}, machine.Op{Do: machine.Delete, Path: t.own.alive(), Version: machine.Any})
	if t.line.path != "" && !t.leaves {
		t.add(why{kind: ofLine}, machine.Op{Do: machine.Delete, Path: t.line.path, Version: machine.Any})
	}
}
