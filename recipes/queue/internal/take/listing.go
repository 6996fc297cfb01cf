package take

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// entry is an item in a bucket, or a pack.
type entry struct {
	place.Item
	name   string
	pack   *place.Pack // nil: it is an item
	orphan bool        // its id stands for it no more

	read    bool // its own znode was, and this was in it
	data    []byte
	version int32
}

// at is where it lies.
func (e *entry) at() place.Place {
	if e.pack != nil {
		return e.pack.At()
	}
	return e.Place
}

// len is how many items it is.
func (e *entry) len() int {
	if e.pack != nil {
		return e.pack.Len()
	}
	return 1
}

// packed is the entry of a pack.
func packed(p place.Pack) *entry { return &entry{pack: &p, name: p.Name()} }

// from is what is left of a pack when everything before this part is taken.
func (e *entry) from(part int) *entry {
	rest := *e.pack
	rest.First = part
	return packed(rest)
}

// listed takes in a bucket's children.
func (m *Machine) listed(b *bucket, names []string) []machine.Effect {
	b.listed, b.used = true, 0
	b.free, b.living = b.free[:0], b.living[:0]
	claims := place.ClaimsIn(names)
	b.claimed = claims.Len()
	known := make(map[string]*entry, len(names))
	texts := make(map[int32]*text)
	for _, name := range names {
		e := b.entry(name)
		if e == nil {
			continue
		}
		known[name] = e
		b.living = append(b.living, e.at())
		if !claims.On(e.at()) {
			b.free = append(b.free, e)
		}
		if e.pack != nil && b.texts[e.pack.Seq] != nil {
			texts[e.pack.Seq] = b.texts[e.pack.Seq]
		}
	}
	b.known, b.texts = known, texts
	slices.SortFunc(b.free, func(a, c *entry) int { return a.at().Compare(c.at()) })
	slices.SortFunc(b.living, place.Place.Compare)
	m.dropPicks(b)
	for _, p := range m.line {
		p.confirmed = p.confirmed || p.bucket == b && p.confirming
	}
	m.hide(b)
	if len(b.free) == 0 && b.claimed == 0 && !m.picked(b) {
		return m.retire(b)
	}
	return nil
}

// entry is the item or pack with this name; nil if it is none's.
func (b *bucket) entry(name string) *entry {
	if e := b.known[name]; e != nil {
		return e
	}
	if p, ok := place.ParsePack(name, b.at.Lane); ok && !b.foreign[name] {
		return packed(p)
	}
	if i, ok := place.ParseItem(name, b.at.Lane); ok {
		return &entry{Item: i, name: name}
	}
	return nil
}

// dropPicks takes those of a bucket out of line that are not free any more. Of a pack they have to
// be the first that are left, and to follow each other.
func (m *Machine) dropPicks(b *bucket) {
	if !slices.ContainsFunc(m.line, func(p *pick) bool { return p.bucket == b }) {
		return
	}
	items, packs := make(map[string]bool, len(b.free)), make(map[int32][]*entry)
	for _, e := range b.free {
		if e.pack != nil {
			packs[e.pack.Seq] = append(packs[e.pack.Seq], e)
		} else {
			items[e.name] = true
		}
	}
	var before *pick
	m.line = slices.DeleteFunc(m.line, func(p *pick) bool {
		switch {
		case p.bucket != b:
		case p.pack == nil:
			p.dropped = p.dropped || !items[p.entry.name]
		default:
			p.dropped = true
			for _, e := range packs[p.entry.Seq] {
				if e.pack.First == p.entry.Part || before != nil && before.pack == e && before.entry.Part+1 == p.entry.Part && p.entry.Part <= e.pack.Last {
					p.pack, p.dropped, before = e, false, p
				}
			}
		}
		return p.dropped
	})
}

// hide takes off what is free in ZooKeeper but picked here. A listing may be older than a claim
// that was answered before it.
func (m *Machine) hide(b *bucket) {
	hidden, packs := make(map[place.Place]bool), make(map[int32]bool)
	note := func(p *pick) {
		if p.bucket == b {
			hidden[p.entry.Place] = true
			packs[p.entry.Seq] = packs[p.entry.Seq] || p.entry.Part > 0
		}
	}
	for _, p := range m.line {
		note(p)
	}
	if m.claiming != nil {
		for _, p := range m.claiming.picks {
			note(p)
		}
	}
	for _, h := range m.held {
		note(h.pick)
	}
	for _, b := range m.burials {
		note(b.pick)
	}
	left := b.free[:0]
	for _, e := range b.free {
		switch {
		case e.pack == nil && hidden[e.Place]:
			continue
		case e.pack != nil && packs[e.pack.Seq]:
			if e = e.without(hidden); e == nil {
				continue
			}
		}
		left = append(left, e)
	}
	b.free = left
}

// without is what is left of a pack behind the last that is hidden: packs are used up from their
// beginning. nil: nothing.
func (e *entry) without(hidden map[place.Place]bool) *entry {
	for part := e.pack.Last; part >= e.pack.First; part-- {
		if !hidden[place.Place{Seq: e.pack.Seq, Part: part}] {
			continue
		}
		if part == e.pack.Last {
			return nil
		}
		return e.from(part + 1)
	}
	return e
}
