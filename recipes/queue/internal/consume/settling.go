package consume

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// settle has what is to be settled in the transaction.
func (t *txn) settle() (changed bool) {
	for _, c := range t.book.claims {
		t.next[c] = c.Claim
		if c.gone {
			delete(t.next, c)
			changed = true
			continue
		}
		if c.znode.Room && !t.space.known() {
			continue
		}
		if len(t.ops) >= most || t.size >= mostBytes {
			continue
		}
		before := *t
		changed = t.settleClaim(c) || changed
		if before.size > 0 && t.size > mostBytes { // it does not fit in: it comes next
			*t = before
			t.next[c] = c.Claim
		}
	}
	return changed
}

func (t *txn) settleClaim(c *claim) bool {
	unread := t.own.closing && c.items == nil // and nobody reads it
	if (c.stale || c.foreign) && !unread {
		return false
	}
	v := t.judge(c)
	if unread {
		v.back = c.Left()
	}
	if v.done|v.back == 0 {
		return v.waits
	}
	rest, path := c.Without(v.done|v.back), t.book.path(c)
	whole := v.back != 0 && v.back|v.done == c.Left() && !v.mixed
	if v.done != 0 && v.done != c.Left() || v.back != 0 && !whole { // what was removed is not written anew
		t.add(why{kind: ofItems, claim: c}, machine.Op{Do: machine.Check, Path: path, Version: c.version})
	}
	t.unmark(c, v.done)
	switch {
	case whole: // it goes back as it is
		r := layout.Returned{Entry: c.Counted(v.counted).Without(v.done), Due: v.due}
		t.add(why{kind: ofBack, claim: c}, machine.Op{Do: machine.Create, Path: t.own.root.Back(r)})
		delete(t.next, c)
		return true
	case v.back != 0:
		t.split(c, v.counted)
	}
	if len(rest.Runs) == 0 {
		delete(t.next, c)
		t.add(why{kind: ofItems, claim: c}, machine.Op{Do: machine.Delete, Path: path, Version: c.version})
		return true
	}
	t.next[c] = layout.Claim{Entry: rest, Offered: c.Offered &^ (v.done | v.back)}
	return true
}

// unmark deletes the marks of removed items that the journal does not name any more.
func (t *txn) unmark(c *claim, done uint64) {
	for n := range layout.MostTogether {
		if bit := uint64(1) << n; done&c.removed&^c.unmarked&bit != 0 {
			t.add(why{kind: ofMark, claim: c, index: n}, machine.Op{Do: machine.Delete, Path: t.own.root.Mark(c.Position, n), Version: machine.Any})
		}
	}
}

// verdict is what becomes of a claim's items.
type verdict struct {
	done, back uint64 // bits
	counted    uint64 // of those that go back: they were received
	due        int64  // when they can be claimed again
	mixed      bool   // at different times
	waits      bool   // some go back once the time is known
}

// judge decides on each item of a claim, and takes those that are settled into the transaction.
func (t *txn) judge(c *claim) verdict {
	v := verdict{done: c.removed}
	for _, i := range c.items {
		switch t.graves.fate(i) {
		case stays:
			continue
		case timed:
			t.timing = append(t.timing, i)
			v.waits = true
			continue
		case dies:
			t.size += i.record.Size()
			t.burials = append(t.burials, letter(i))
			v.done |= i.bit()
			t.free(i)
		case ends:
			v.done |= i.bit()
			t.free(i)
		case returns:
			if i.how == Nack {
				v.counted |= i.bit()
			}
			v.mixed = v.mixed || v.back != 0 && v.due != i.due
			v.due = i.due
			v.back |= i.bit()
		}
		t.settled = append(t.settled, i)
	}
	return v
}

// free frees the id of an item that is gone, and its room.
func (t *txn) free(i *item) {
	if i.claim.znode.Room {
		t.frees++
	}
	if i.record.ID != "" && !i.freed {
		t.add(why{kind: ofID, item: i}, machine.Op{Do: machine.Delete, Path: t.own.root.ID(i.record.ID), Version: machine.Any})
	}
}

// split gives what goes back znodes of its own, at its position: the others stay, or go back at
// another time. Neighbours share one.
func (t *txn) split(c *claim, counted uint64) {
	entry := c.Counted(counted)
	for _, run := range t.returning(c) {
		n, records := run[0].index, make([]layout.Record, len(run))
		for k, i := range run {
			records[k] = i.record
			t.size += i.record.Size()
		}
		path := znode.Join(t.own.root.Bucket(c.Bucket), c.znode.Cut(n, len(run)).Name())
		t.add(why{kind: ofAlone, claim: c, run: run}, machine.Op{Do: machine.Create, Path: path, Data: layout.Pack(records)})
		r := layout.Returned{Entry: entry.Cut(c.znode, n, len(run)), Due: run[0].due}
		t.add(why{kind: ofBack, claim: c, run: run}, machine.Op{Do: machine.Create, Path: t.own.root.Back(r)})
	}
}

// returning are the items of a claim that go back: neighbours together, if they go back at the same
// time.
func (t *txn) returning(c *claim) (runs [][]*item) {
	var last *item
	for _, i := range c.items {
		if t.graves.fate(i) != returns {
			continue
		}
		if last == nil || i.index != last.index+1 || i.due != last.due {
			runs = append(runs, nil)
		}
		n := len(runs) - 1
		runs[n], last = append(runs[n], i), i
	}
	return runs
}
