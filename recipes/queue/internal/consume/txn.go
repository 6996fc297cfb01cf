package consume

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// txn is a transaction, and what each of its operations is for.
type txn struct {
	ops   []machine.Op
	parts []part
	size  int
	items []*item

	additions []addition
}

// most and mostBytes bound a transaction; one item is always in it.
const (
	most      = 50
	mostBytes = 256 << 10
)

// part says what an operation is for.
type part struct {
	what what
	item *item
	end  *end // whose bell it is, or that is appended to
	tail tail.Part
}

type what int

const (
	theItem what = iota + 1
	theClaim
	theID
	theBell
	theParent // later/, whose version tells that something was moved
	thePlace
	theFirst // the place of the first in line
	appended
)

func (t *txn) add(p part, op machine.Op) {
	t.ops, t.parts = append(t.ops, op), append(t.parts, p)
	t.size += len(op.Data) + len(op.Path)
}

// once adds an operation that no transaction needs twice.
func (t *txn) once(p part, op machine.Op) {
	for _, o := range t.ops {
		if o.Do == op.Do && o.Path == op.Path {
			return
		}
	}
	t.add(p, op)
}

// full tells whether nothing more fits in.
func (t *txn) full() bool { return len(t.items) >= most || t.size >= mostBytes }

// failed is what the operation was for that a transaction failed for; zero if that is not known.
func (t *txn) failed(ev machine.Transacted) part {
	if ev.Failed < 0 || ev.Failed >= len(t.parts) {
		return part{}
	}
	return t.parts[ev.Failed]
}

// has tells whether something is among what a transaction does.
func (t *txn) has(w what) bool {
	return t != nil && slices.ContainsFunc(t.parts, func(p part) bool { return p.what == w })
}

// exclude has the transaction fail if an item is claimed.
func (t *txn) exclude(i *item, claim machine.Op) {
	t.add(part{what: theClaim, item: i}, claim)
	t.add(part{what: theClaim, item: i}, machine.Op{Do: machine.Delete, Path: claim.Path, Version: machine.Any})
}

// free frees an item's id.
func (t *txn) free(root layout.Root, i *item) {
	if !i.freed {
		path, _ := root.ID(i.record.ID)
		t.add(part{what: theID, item: i}, machine.Op{Do: machine.Delete, Path: path, Version: machine.Any})
	}
}

// send sends a transaction for some items.
func (m *Machine) send(t *txn, p purpose) {
	m.under[p] = t
	m.Ask(machine.Transact{Ops: t.ops}, key{purpose: p})
}

func (m *Machine) onSent(p purpose, ev machine.Transacted) {
	t := m.under[p]
	switch ev.Code {
	case machine.Done:
		for n, part := range t.parts {
			switch r := ev.Results[n]; {
			case part.what == appended:
				part.end.Done(part.tail, r)
			case r.Stat.Mtime > 0: // it was set
				m.saw(r.Stat.Mtime)
				if part.item != nil {
					part.item.token = r.Stat.Mzxid // that of its claim: it is the same transaction
				}
			}
		}
		m.done(p, t, ev.Results)
	case machine.Unknown:
		m.tail.Forget()
		m.dead.Forget()
		m.resolve(p)
	default:
		delete(m.under, p)
		m.refusedFor(p, t, t.failed(ev), ev)
		m.found()
	}
}

// done takes in that a transaction was carried out. There are no results if its answer was lost.
func (m *Machine) done(p purpose, t *txn, results []machine.Result) {
	delete(m.under, p)
	switch p {
	case claiming:
		if t.has(thePlace) {
			m.left()
		}
		m.claimed(t)
	case settling:
		for _, i := range t.items {
			m.force = m.force || i.how != Ack && i.due == 0 // a look under way may have been before it went back
			m.over(i, nil)
		}
		if t.has(thePlace) && results != nil {
			m.joined(results[len(results)-1].Path)
		} else if t.has(thePlace) {
			m.doubt = true
		}
	case moving:
		m.force = true
	}
}

// refusedFor takes in for what a transaction was refused. What can be carried out still is sent
// again.
func (m *Machine) refusedFor(p purpose, t *txn, w part, ev machine.Transacted) {
	m.force = m.force || p == moving
	// What has a child is in nobody else's hands: it is refused, too.
	switch definite := ev.Code != machine.Refused && (ev.Code != machine.NotEmpty || w.what == theID); {
	case w.end != nil && (definite || w.end == &m.dead):
		m.unappended(w, ev)
	case w.what == thePlace && definite:
		if m.left(); p == settling { // it was to be made
			m.prepare(m.root)
		}
	case w.what == theFirst && definite:
		m.asSecond = false
	case w.what == theID && definite: // it was deleted by hand
		if w.item.freed = true; p == moving {
			m.doomed = t.items
		}
	case definite && w.item == nil:
		m.prepare(m.root)
	case definite && p == moving && w.what == theClaim && ev.Code == machine.NoNode:
		m.outrun(w, ev.Code)
	case definite && p == claiming:
		m.outrun(w, ev.Code)
	case definite && p == settling:
		m.unsettled(w, ev.Code)
	case !definite:
		for _, i := range t.items {
			if w.item != nil && w.item != i {
				continue
			}
			// It is not always told for which of several: then each is sent alone.
			if i.alone = true; w.item == i || len(t.items) == 1 || p != settling {
				m.forbidden(p, w.what, i, ev.Err)
			}
		}
	}
}

// forbidden: somebody has no right to what is to be done with an item.
func (m *Machine) forbidden(p purpose, w what, i *item, err error) {
	switch {
	case p == settling: // if it goes back now, somebody else may have more luck
		m.skip(i.at.Path(m.root), err)
		m.unsettle(i, err)
		m.pause()
	case w == theClaim:
		m.skip(m.root.Bucket(i.at.Bucket), err)
		m.free, m.candidates, m.force = nil, nil, true
	default:
		m.skip(i.at.Path(m.root), err)
		m.uncandidate(i)
	}
}

// resolve finds out whether a transaction was carried out whose answer was lost. What was to be
// moved the next look shows.
func (m *Machine) resolve(p purpose) {
	if p == moving {
		m.done(p, m.under[p], nil)
		return
	}
	var queries []machine.Query
	for _, i := range m.under[p].items {
		queries = append(queries, machine.Query{Path: m.root.Claim(i.at.Bucket, i.at.Seq)}, machine.Query{Path: i.at.Path(m.root)})
	}
	k := key{purpose: resolving}
	if p == claiming {
		k.at = "claim"
	}
	m.once(machine.Look{Queries: queries}, k)
}

// onResolved: a claim was carried out if claims are this consumer's now, of items with the next
// version; a settlement if none is, of items with the version from before. What this consumer has
// claimed again meanwhile has another one.
func (m *Machine) onResolved(at string, ev machine.Looked) {
	p, delta := settling, int32(0)
	if at != "" {
		p, delta = claiming, 1
	}
	t := m.under[p]
	var mine []*item
	for n, a := range ev.Answers {
		seen, _ := a.(machine.Seen)
		if seen.Code != machine.Done {
			m.refused(seen.Path, seen.Err)
			return // and again behind the pause
		}
		if n%2 == 0 {
			continue
		}
		i := t.items[n/2]
		claim, _ := ev.Answers[n-1].(machine.Seen)
		if string(claim.Data) == m.cfg.GUID && seen.Exists && seen.Stat.Version == i.version+delta {
			i.token = claim.Stat.Czxid
			mine = append(mine, i)
		} else if p == settling && i.how == Ack && seen.Exists {
			m.over(i, ErrLost) // somebody has deleted the claim before
		}
	}
	switch {
	case p == settling && len(mine) == 0:
		m.done(p, t, nil)
	case p == claiming && len(mine) > 0:
		t.items = mine
		m.done(p, t, nil)
	default:
		delete(m.under, p)
		if p == claiming {
			m.candidates, m.free, m.force = nil, nil, true // a listing is for one claim
		}
	}
}
