package take

import (
	"cmp"
	"maps"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// root is what is known of the queue's children.
type root struct {
	listed bool
	dirty  bool // something has changed since
	asked  bool
}

// bucket is what is known of one.
type bucket struct {
	at     place.Bucket
	path   string
	last   bool // of its lane
	final  bool // it was listed when it was known that nothing is put into it any more
	listed bool
	dirty  bool // something has changed since: it matters only when what is known is used up
	stale  bool // what is known is wrong
	asked  bool
	gone   bool

	living  []int32           // the numbers of all items, in order
	known   map[string]*entry // all items, by name
	free    []*entry          // what nobody has claimed, in order
	doubted map[string]bool   // that were not as they were believed to be: claimed by somebody else, or more often than never
	claimed int
	bodies  map[string]*text // by name
	wary    bool             // items in it were claimed before: their versions have to be read
}

// text is what is known of a body.
type text struct {
	asked bool
	data  [][]byte // nil: not read
	bad   bool     // it is none
}

// entry is an item in a bucket.
type entry struct {
	place.Item
	name   string
	orphan bool   // its id stands for it no more
	body   string // the name of the body that its data are in; "" if they are its own
	nth    int

	read    bool // its own znode was, and this was in it
	data    []byte
	version int32
}

// look lists the queue, if it is to be known anew.
func (m *Machine) look() []recipe.Effect {
	if m.cfg.Site.Flat != "" {
		return m.lookFlat()
	}
	if m.root.asked || m.root.listed && !m.root.dirty {
		return nil
	}
	if !m.root.listed && m.wanted() <= 0 && len(m.settling) == 0 {
		return nil
	}
	m.root.asked = true
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		m.root.asked = false
		l := ev.(recipe.Listed)
		switch l.Code {
		case recipe.Done:
			m.root.listed, m.root.dirty = true, false
			m.sort(l.Names)
			return nil
		case recipe.NoNode:
			return m.make(string(m.cfg.Site.Root), true)
		}
		return m.fail(l.Err)
	})
	m.root.dirty = false
	return []recipe.Effect{recipe.List{Epoch: m.epoch, Ask: ask, Path: string(m.cfg.Site.Root), Watch: true}}
}

// make makes the queue, so that it can be watched.
func (m *Machine) make(path string, container bool) []recipe.Effect {
	m.root.asked = true
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		m.root.asked = false
		if e := ev.(recipe.Ensured); e.Code != recipe.Done {
			return m.fail(e.Err)
		}
		return nil
	})
	return []recipe.Effect{recipe.Ensure{Epoch: m.epoch, Ask: ask, Path: path, Container: container}}
}

// sort takes in the names of the queue's children.
func (m *Machine) sort(names []string) {
	m.bounded = slices.Contains(names, place.RoomName)
	m.order = m.order[:0]
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		at, ok := place.ParseBucket(name)
		if !ok {
			continue
		}
		path := m.cfg.Site.Root.Bucket(at)
		seen[path] = true
		if m.buckets[path] == nil {
			m.buckets[path] = &bucket{at: at, path: path}
		}
		m.order = append(m.order, m.buckets[path])
	}
	for path, b := range m.buckets {
		if !seen[path] {
			b.gone = true
			delete(m.buckets, path)
		}
	}
	slices.SortFunc(m.order, func(a, b *bucket) int { return m.compare(a.at, b.at) })
	for i, b := range m.order {
		b.last = i+1 == len(m.order) || m.order[i+1].at.Lane != b.at.Lane
	}
}

// compare orders buckets: those of one priority begin with the own shard.
func (m *Machine) compare(a, b place.Bucket) int {
	if !a.Lane.Later && !b.Lane.Later && a.Lane.Priority == b.Lane.Priority {
		turn := func(l place.Lane) int { return (l.Shard - m.cfg.Shard + place.MaxShards) % place.MaxShards }
		return cmp.Or(cmp.Compare(turn(a.Lane), turn(b.Lane)), cmp.Compare(a.Number, b.Number))
	}
	return a.Compare(b)
}

// list lists a bucket.
func (m *Machine) list(b *bucket) []recipe.Effect {
	if b.asked {
		return nil
	}
	b.asked, b.dirty, b.stale = true, false, false
	final := !b.last
	for _, p := range m.line {
		p.confirming = p.confirming || p.bucket == b && p.seen
	}
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		b.asked = false
		l := ev.(recipe.Listed)
		switch l.Code {
		case recipe.Done:
			b.final = final
			return m.listed(b, l.Names)
		case recipe.NoNode:
			m.lost(b)
			return nil
		}
		return m.fail(l.Err)
	})
	return []recipe.Effect{recipe.List{Epoch: m.epoch, Ask: ask, Path: b.path, Watch: true}}
}

// lost takes in that a bucket is gone.
func (m *Machine) lost(b *bucket) {
	b.gone = true
	delete(m.buckets, b.path)
	m.order = slices.DeleteFunc(m.order, func(c *bucket) bool { return c == b })
	m.dropPicks(b, nil)
	m.root.dirty = true
}

// listed takes in a bucket's children.
func (m *Machine) listed(b *bucket, names []string) []recipe.Effect {
	b.listed = true
	b.free = b.free[:0]
	claims := place.ClaimsIn(names)
	b.claimed = claims.Len()
	bodies := make(map[string]*text)
	for _, name := range names {
		if place.IsBody(name) {
			if bodies[name] = b.bodies[name]; bodies[name] == nil {
				bodies[name] = &text{}
			}
		}
	}
	b.bodies = bodies
	b.living = b.living[:0]
	known := make(map[string]*entry, len(names))
	for _, name := range names {
		e := b.entry(name)
		if e == nil {
			continue
		}
		known[name] = e
		b.living = append(b.living, e.Seq)
		if !claims.On(e.Seq) {
			b.wary = b.wary || b.doubted[name] // nobody has it: it was claimed before
			b.free = append(b.free, e)
		}
	}
	b.known = known
	clear(b.doubted)
	inOrder(b.free)
	slices.SortFunc(b.living, znode.CompareSeq)
	m.dropPicks(b, b.freeNames())
	for _, p := range m.line {
		p.confirmed = p.confirmed || p.bucket == b && p.confirming
	}
	m.hide(b)
	if len(b.free) == 0 && b.claimed == 0 && !m.picked(b) {
		return m.retire(b)
	}
	return nil
}

// entry is the item with this name; nil if it is none's.
func (b *bucket) entry(name string) *entry {
	if e := b.known[name]; e != nil {
		return e
	}
	i, ok := place.ParseItem(name, b.at.Lane)
	if !ok {
		return nil
	}
	e := &entry{Item: i, name: name}
	if body, nth, ok := place.BodyOf(i.GUID); ok && b.bodies[body] != nil {
		e.body, e.nth = body, nth
	}
	return e
}

// freeNames are the names of what is free.
func (b *bucket) freeNames() map[string]bool {
	names := make(map[string]bool, len(b.free))
	for _, e := range b.free {
		names[e.name] = true
	}
	return names
}

// inOrder sorts items of one bucket by their numbers. Those of a bucket never come near the end of their range, but others may have had a hand in it.
func inOrder(items []*entry) {
	slices.SortFunc(items, func(a, b *entry) int { return znode.CompareSeq(a.Seq, b.Seq) })
}

// picked tells whether items of a bucket are in line or being claimed.
func (m *Machine) picked(b *bucket) bool {
	of := func(p *pick) bool { return p.bucket == b }
	return slices.ContainsFunc(m.line, of) || m.claiming != nil && slices.ContainsFunc(m.claiming.picks, of)
}

// hide takes off what is free in ZooKeeper but picked here.
func (m *Machine) hide(b *bucket) {
	hidden := make(map[string]bool)
	for _, p := range m.line {
		hidden[p.path] = p.bucket == b
	}
	if m.claiming != nil {
		for _, p := range m.claiming.picks {
			hidden[p.path] = p.bucket == b
		}
	}
	for _, h := range m.held { // a listing may be older than a claim that was answered before it
		hidden[h.pick.path] = hidden[h.pick.path] || h.pick.bucket == b
	}
	b.free = slices.DeleteFunc(b.free, func(e *entry) bool { return hidden[znode.Join(b.path, e.name)] })
}

// dropPicks takes those of a bucket out of line that are not free any more.
func (m *Machine) dropPicks(b *bucket, free map[string]bool) {
	m.line = slices.DeleteFunc(m.line, func(p *pick) bool {
		p.dropped = p.dropped || p.bucket == b && !free[p.entry.name]
		return p.dropped
	})
}

// manyLanes is from how many buckets on an empty lane is not kept for its next item.
const manyLanes = 64

// retire deletes an empty bucket that nobody puts into any more. ZooKeeper refuses if there is anything in it, or if it is open, which its version tells.
// The first of a lane stays once it was sealed: see package give.
func (m *Machine) retire(b *bucket) []recipe.Effect {
	version := int32(1)
	switch {
	case m.cfg.Site.Flat != "":
		return nil
	case b.at.Lane.Later:
		if m.later.now < b.at.Lane.Slot {
			return nil
		}
		version = recipe.Any // there is no order to keep
	case b.at.Number > 0 && !b.last:
	case b.at.Number == 0 && b.last && len(m.order) > manyLanes:
		version = 0
	default:
		return nil
	}
	var ops []recipe.Op
	for _, name := range slices.Sorted(maps.Keys(b.bodies)) {
		ops = append(ops, recipe.Op{Do: recipe.Delete, Path: znode.Join(b.path, name), Version: recipe.Any})
	}
	ops = append(ops, recipe.Op{Do: recipe.Delete, Path: b.path, Version: version})
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		if t := ev.(recipe.Transacted); t.Code == recipe.Done {
			dirty := m.root.dirty
			m.lost(b)
			m.root.dirty = dirty // its own watch tells of the rest
		}
		return nil
	})
	return []recipe.Effect{recipe.Transact{Epoch: m.epoch, Ask: ask, Ops: ops}}
}

// onFired takes in that something has changed.
func (m *Machine) onFired(ev recipe.Fired) []recipe.Effect {
	if ev.Epoch != m.epoch {
		return nil
	}
	if ev.Path == string(m.cfg.Site.Root) && m.cfg.Site.Flat == "" {
		m.root.dirty = true
		if ev.Change == recipe.Deleted {
			m.root.listed = false
		}
		return nil
	}
	if r := m.runs[ev.Path]; r != nil {
		return m.onRunFired(r, ev)
	}
	for _, b := range m.buckets {
		if b.path == ev.Path || m.cfg.Taken != "" && ev.Path == m.cfg.Taken {
			b.dirty = true
		}
	}
	return nil
}
