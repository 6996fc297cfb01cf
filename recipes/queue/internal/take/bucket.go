package take

import (
	"cmp"
	"slices"

	"github.com/troupe-go/troupe/machine"
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
	dirty  bool // something has changed since: it matters when what is known is used up, or has served for many
	used   int  // how many were picked since it was listed
	stale  bool // what is known is wrong
	asked  bool
	gone   bool

	living  []place.Place     // where something lies, in order: of a pack, its first item
	known   map[string]*entry // all items and packs, by name
	free    []*entry          // what nobody has claimed, in order
	foreign map[string]bool   // looks like a pack, and is none
	claimed int
	texts   map[int32]*text // of packs, by their numbers
	reading map[int32]bool  // these are being read
}

func newBucket(at place.Bucket, path string) *bucket {
	return &bucket{at: at, path: path, foreign: make(map[string]bool), texts: make(map[int32]*text), reading: make(map[int32]bool)}
}

// look lists the queue, if it is to be known anew.
func (m *Machine) look() []machine.Effect {
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
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		m.root.asked = false
		l := ev.(machine.Listed)
		switch l.Code {
		case machine.Done:
			m.root.listed, m.root.dirty = true, false
			m.sort(l.Names)
			return nil
		case machine.NoNode:
			return m.make(string(m.cfg.Site.Root), true)
		}
		return m.fail(l.Err)
	})
	m.root.dirty = false
	return []machine.Effect{machine.List{Epoch: m.epoch, Ask: ask, Path: string(m.cfg.Site.Root), Watch: true}}
}

// make makes the queue, so that it can be watched.
func (m *Machine) make(path string, container bool) []machine.Effect {
	m.root.asked = true
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		m.root.asked = false
		if e := ev.(machine.Ensured); e.Code != machine.Done {
			return m.fail(e.Err)
		}
		return nil
	})
	return []machine.Effect{machine.Ensure{Epoch: m.epoch, Ask: ask, Path: path, Container: container}}
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
			m.buckets[path] = newBucket(at, path)
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
func (m *Machine) list(b *bucket) []machine.Effect {
	if b.asked {
		return nil
	}
	b.asked, b.dirty, b.stale = true, false, false
	final := !b.last
	for _, p := range m.line {
		p.confirming = p.confirming || p.bucket == b && p.seen
	}
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		b.asked = false
		l := ev.(machine.Listed)
		switch l.Code {
		case machine.Done:
			b.final = final
			return m.listed(b, l.Names)
		case machine.NoNode:
			m.lost(b)
			return nil
		}
		return m.fail(l.Err)
	})
	return []machine.Effect{machine.List{Epoch: m.epoch, Ask: ask, Path: b.path, Watch: true}}
}

// lost takes in that a bucket is gone.
func (m *Machine) lost(b *bucket) {
	b.gone = true
	delete(m.buckets, b.path)
	m.order = slices.DeleteFunc(m.order, func(c *bucket) bool { return c == b })
	b.free = nil
	m.dropPicks(b)
	m.root.dirty = true
}

// picked tells whether items of a bucket are in line or being claimed.
func (m *Machine) picked(b *bucket) bool {
	of := func(p *pick) bool { return p.bucket == b }
	return slices.ContainsFunc(m.line, of) || m.claiming != nil && slices.ContainsFunc(m.claiming.picks, of)
}

// manyLanes is from how many buckets on an empty lane is not kept for its next item.
const manyLanes = 64

// retire deletes an empty bucket that nobody puts into any more. ZooKeeper refuses if there is
// anything in it, or if it is open, which its version tells. The first of a lane stays once it was
// sealed: see package give.
func (m *Machine) retire(b *bucket) []machine.Effect {
	version := int32(1)
	switch {
	case m.cfg.Site.Flat != "":
		return nil
	case b.at.Lane.Later:
		if m.later.now < b.at.Lane.Slot {
			return nil
		}
		version = machine.Any // there is no order to keep
	case b.at.Number > 0 && !b.last:
	case b.at.Number == 0 && b.last && len(m.order) > manyLanes:
		version = 0
	default:
		return nil
	}
	ops := []machine.Op{{Do: machine.Delete, Path: b.path, Version: version}}
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		if t := ev.(machine.Transacted); t.Code == machine.Done {
			dirty := m.root.dirty
			m.lost(b)
			m.root.dirty = dirty // its own watch tells of the rest
		}
		return nil
	})
	return []machine.Effect{machine.Transact{Epoch: m.epoch, Ask: ask, Ops: ops}}
}

// onFired takes in that something has changed.
func (m *Machine) onFired(ev machine.Fired) []machine.Effect {
	if ev.Epoch != m.epoch {
		return nil
	}
	if ev.Path == string(m.cfg.Site.Root) && m.cfg.Site.Flat == "" {
		m.root.dirty = true
		if ev.Change == machine.Deleted {
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
