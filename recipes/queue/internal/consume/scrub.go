package consume

import (
	"maps"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// sweep is how often a dispatcher looks at what lies before the cursor, in milliseconds.
const sweep = 60_000

// scrub looks after the buckets up to the cursor. Those that are empty are deleted. What lies in
// one for two sweeps is looked for in the journals and among what came back; what nobody names is
// returned: an administrator has deleted what named it.
type scrub struct {
	swept map[place.Bucket]bool // since the last sweep
	full  map[place.Bucket]int  // in how many sweeps a bucket was not empty
	clean map[place.Bucket]bool // empty for good, and stays all the same
	audit *audit                // nil: none is under way
	told  map[string]bool       // paths that mean nothing to a queue, and were reported
}

// audit finds what nobody names. It is exact: the cursor has one version and what came back one
// cversion from its beginning to its end, so that entries leave journals only with their items.
type audit struct {
	cursor   layout.Cursor
	version  int32 // of the cursor
	cversion int32 // of what came back
	named    map[layout.Position]bool
	tags     []string // of journals that are not read
	buckets  []place.Bucket
	lost     []layout.Returned
	over     bool // what came back is listed for the second time
}

func newScrub() scrub {
	return scrub{swept: make(map[place.Bucket]bool), full: make(map[place.Bucket]int), clean: make(map[place.Bucket]bool), told: make(map[string]bool)}
}

// report reports what is in a listing and means nothing, once.
func (m *Machine) report(parent string, names []string, means func(name string) bool) {
	for _, name := range names {
		if path := znode.Join(parent, name); !means(name) && !m.scrub.told[path] {
			m.scrub.told[path] = true
			m.requests.Emit(Skipped{Path: path, Err: errForeign})
		}
	}
}

func isItems(name string) bool {
	_, ok := layout.ParseZnode(name)
	return ok
}

func isDelayed(name string) bool {
	_, ok := layout.ParseDelayed(name)
	return ok
}

func isReturned(name string) bool {
	_, ok := layout.ParseReturned(name)
	return ok
}

// isBucket tells whether it is one, or what lies beside them.
func isBucket(name string) bool {
	_, ok := place.ParseBucket(name)
	return ok || name == "returned" || name == "alive"
}

// tidy lists the buckets up to the cursor, once a sweep.
func (m *Machine) tidy() {
	s, v := &m.scrub, &m.view
	if !m.line.first() || !v.known() {
		return
	}
	old := false
	for lane, numbers := range v.buckets {
		mark := v.cursor.Of(lane)
		for _, n := range numbers {
			b := place.Bucket{Lane: lane, Number: n}
			switch {
			case lane.Later, n > mark.Number, n == mark.Number && v.listings[b].all == 0, s.clean[b]:
			case s.swept[b]:
				old = true
			default:
				old, s.swept[b] = true, true
				m.once(machine.List{Path: m.cfg.Root.Bucket(b)}, key{sweeping, b.Name()})
			}
		}
	}
	if old {
		m.once(machine.Wake{After: sweep}, key{purpose: resting})
	}
}

// rested: it is time for the next sweep.
func (m *Machine) rested() {
	s := &m.scrub
	clear(s.swept)
	if s.audit == nil && slices.ContainsFunc(slices.Collect(maps.Values(s.full)), func(n int) bool { return n >= 2 }) {
		s.audit = &audit{named: make(map[layout.Position]bool)}
		m.requests.Ask(machine.Read{Path: m.cfg.Root.Cursor()}, key{auditing, "cursor"})
	}
}

// onSwept takes in the listing of a bucket that the cursor has reached.
func (m *Machine) onSwept(ev machine.Listed, b place.Bucket) {
	s := &m.scrub
	top := 0
	for _, n := range m.view.buckets[b.Lane] {
		top = max(top, n)
	}
	switch {
	case ev.Code != machine.Done:
		delete(s.full, b)
	case len(ev.Names) > 0:
		s.full[b]++
	case b.Number < top && b.Number > 0: // sealed
		delete(s.full, b)
		m.requests.Ask(machine.Transact{Ops: []machine.Op{
			{Do: machine.Delete, Path: ev.Path, Version: 1},
		}}, key{clearing, b.Name()})
	default:
		delete(s.full, b)
		s.clean[b] = b.Number < top // another one may be put into the open one
	}
}

// onAudited takes in the next step of an audit, and asks for the one after it.
func (m *Machine) onAudited(k key, ev machine.Event) {
	a, root := m.scrub.audit, m.cfg.Root
	if a == nil {
		return
	}
	ok := true
	switch ev := ev.(type) {
	case machine.Seen:
		if k.at == "cursor" {
			a.cursor, ok = layout.ParseCursor(ev.Data)
			a.version, ok = ev.Stat.Version, ok && ev.Exists
			m.requests.Ask(machine.List{Path: root.Returned()}, key{auditing, "returned"})
		} else {
			ok = ev.Code == machine.Done && a.reads(ev)
			m.auditNext()
		}
	case machine.Listed:
		ok = ev.Code == machine.Done
		switch k.at {
		case "returned":
			if a.over {
				ok = ok && ev.Stat.Cversion == a.cversion
				m.auditEnds(ok)
				return
			}
			a.cversion = ev.Stat.Cversion
			for _, r := range returnedIn(ev.Names) {
				a.named[r.Position] = true
			}
			m.requests.Ask(machine.List{Path: root.Journals()}, key{auditing, "journals"})
		case "journals":
			a.tags, a.buckets = ev.Names, slices.Collect(maps.Keys(m.scrub.full))
			m.auditNext()
		default:
			b, _ := place.ParseBucket(k.at)
			a.finds(b, ev.Names)
			ok = true // one that is gone has nothing
			m.auditNext()
		}
	}
	if !ok {
		m.auditEnds(false)
	}
}

// reads takes a journal in.
func (a *audit) reads(ev machine.Seen) bool {
	if !ev.Exists {
		return true
	}
	j, ok := layout.ParseJournal(ev.Data)
	for _, c := range j.Claims {
		a.named[c.Position] = true
	}
	return ok
}

// finds takes in what lies in a bucket.
func (a *audit) finds(b place.Bucket, names []string) {
	mark := a.cursor.Of(b.Lane)
	for _, name := range names {
		z, ok := layout.ParseZnode(name)
		if !ok || b.Number > mark.Number || b.Number == mark.Number && z.Seq > mark.Seq && z.Part() == 0 {
			continue
		}
		if e := layout.Whole(b, z); !a.named[e.Position] && len(a.lost) < most {
			a.lost = append(a.lost, layout.Returned{Entry: e})
		}
	}
}

// auditNext reads the next journal, or lists the next bucket, or what came back.
func (m *Machine) auditNext() {
	a, root := m.scrub.audit, m.cfg.Root
	switch {
	case len(a.tags) > 0:
		tag := a.tags[0]
		a.tags = a.tags[1:]
		m.requests.Ask(machine.Read{Path: root.Journal(tag)}, key{auditing, tag})
	case len(a.buckets) > 0:
		b := a.buckets[0]
		a.buckets = a.buckets[1:]
		m.requests.Ask(machine.List{Path: root.Bucket(b)}, key{auditing, b.Name()})
	default:
		a.over = true
		m.requests.Ask(machine.List{Path: root.Returned()}, key{auditing, "returned"})
	}
}

// auditEnds returns what nobody names, unless something has moved meanwhile: then it is found in a
// later sweep.
func (m *Machine) auditEnds(exact bool) {
	a := m.scrub.audit
	m.scrub.audit = nil
	if !exact || len(a.lost) == 0 {
		return
	}
	ops := []machine.Op{{Do: machine.Set, Path: m.cfg.Root.Cursor(), Data: a.cursor.Bytes(), Version: a.version}}
	for _, r := range a.lost {
		ops = append(ops, machine.Op{Do: machine.Create, Path: m.backPath(r)})
		m.requests.Emit(Skipped{Path: znode.Join(m.cfg.Root.Work(), r.Position.String()), Err: errUnnamed})
	}
	m.requests.Ask(machine.Transact{Ops: ops}, key{purpose: returning})
}
