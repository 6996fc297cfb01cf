package consume

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// settleIn has what is to be settled in the transaction.
func (m *Machine) settleIn(t *txn) (changed bool) {
	for _, c := range m.claims {
		t.next[c] = c.Claim
		if c.gone {
			delete(t.next, c)
			changed = true
			continue
		}
		if c.znode.Room && !m.spaceKnown() {
			continue
		}
		if len(t.ops) < most && t.size < mostBytes && m.settleClaim(t, c) {
			changed = true
		}
	}
	return changed
}

func (m *Machine) settleClaim(t *txn, c *claim) bool {
	if c.stale {
		return false
	}
	v := m.judge(t, c)
	if m.closing && c.items == nil { // nobody has read it
		v.back = c.Left()
	}
	if v.done|v.back == 0 {
		return v.waits
	}
	rest := c.Without(v.done | v.back)
	whole := v.back != 0 && v.back|v.done == c.Left() && !v.mixed
	if v.done != 0 && v.done != c.Left() || v.back != 0 && !whole { // what was removed is not written anew
		t.add(part{kind: ofItems, claim: c}, machine.Op{Do: machine.Check, Path: m.path(c), Version: c.version})
	}
	switch {
	case whole: // it goes back as it is
		r := layout.Returned{Entry: c.Counted(v.counted).Without(v.done), Due: v.due}
		t.add(part{kind: ofBack, claim: c, name: r.Name()}, machine.Op{Do: machine.Create, Path: m.backPath(r)})
		delete(t.next, c)
		return true
	case v.back != 0:
		m.splitIn(t, c, v.counted)
	}
	if len(rest.Runs) == 0 {
		delete(t.next, c)
		t.add(part{kind: ofItems, claim: c}, machine.Op{Do: machine.Delete, Path: m.path(c), Version: c.version})
		return true
	}
	t.next[c] = layout.Claim{Entry: rest, Offered: c.Offered &^ (v.done | v.back)}
	return true
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
func (m *Machine) judge(t *txn, c *claim) verdict {
	v := verdict{done: c.removed}
	for _, i := range c.items {
		switch m.fate(i) {
		case stays:
			continue
		case timed:
			t.timing = append(t.timing, i)
			v.waits = true
			continue
		case dies:
			m.bury(t, i)
			v.done |= i.bit()
			m.freeIn(t, i)
		case ends:
			v.done |= i.bit()
			m.freeIn(t, i)
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

// splitIn gives each item that goes back a znode of its own, at its position: the others stay, or
// go back at another time.
func (m *Machine) splitIn(t *txn, c *claim, counted uint64) {
	for _, i := range c.items {
		if m.fate(i) != returns {
			continue
		}
		z := c.znode.Alone(i.index)
		path := znode.Join(m.cfg.Root.Bucket(c.Bucket), z.Name())
		t.size += i.record.Size()
		t.add(part{kind: ofAlone, claim: c}, machine.Op{Do: machine.Create, Path: path, Data: layout.Pack([]layout.Record{i.record})})
		e := layout.Entry{Position: c.Position, Runs: []layout.Run{{Items: 1, Attempts: c.Counted(counted).Attempts(i.index)}}}
		e.Part = z.Part()
		r := layout.Returned{Entry: e, Due: i.due}
		t.add(part{kind: ofBack, claim: c, name: r.Name()}, machine.Op{Do: machine.Create, Path: m.backPath(r)})
	}
}
