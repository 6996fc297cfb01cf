package take

import (
	"bytes"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// text is what is known of a pack's data. It serves what is left of the pack later as well.
type text struct {
	first int // the number of the first
	data  [][]byte
}

// of are an item's data; false if they are not known.
func (t *text) of(part int) ([]byte, bool) {
	if t == nil || part < t.first || part-t.first >= len(t.data) {
		return nil, false
	}
	return t.data[part-t.first], true
}

// readPack puts the first items of a pack into line, and reads it.
func (m *Machine) readPack(b *bucket, e *entry, n int) []machine.Effect {
	for part := e.pack.First; part < e.pack.First+n; part++ {
		m.line = append(m.line, &pick{bucket: b, entry: &entry{Item: e.pack.Item(part)}, pack: e})
	}
	return m.handOut(b, e)
}

// handOut gives the picks of a pack their data, or has it read.
func (m *Machine) handOut(b *bucket, e *entry) []machine.Effect {
	t := b.texts[e.pack.Seq]
	for _, p := range m.line {
		if p.waitsFor(b, e) {
			if data, ok := t.of(p.entry.Part); ok {
				p.data, p.text, p.ready = bytes.Clone(data), t, true
			}
		}
	}
	p := m.waiting(b, e)
	if p == nil || b.reading[e.pack.Seq] {
		return nil
	}
	e = p.pack
	b.reading[e.pack.Seq] = true
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		delete(b.reading, e.pack.Seq)
		return m.sawPack(b, e, ev.(machine.Seen))
	})
	return []machine.Effect{machine.Read{Epoch: m.epoch, Ask: ask, Path: znode.Join(b.path, e.name)}}
}

// waitsFor tells whether a pick lacks data from a pack, or from what was left of the same.
func (p *pick) waitsFor(b *bucket, e *entry) bool {
	return p.pack != nil && !p.ready && p.bucket == b && p.entry.Seq == e.pack.Seq
}

// waiting is the first that does.
func (m *Machine) waiting(b *bucket, e *entry) *pick {
	if n := slices.IndexFunc(m.line, func(p *pick) bool { return p.waitsFor(b, e) }); n >= 0 {
		return m.line[n]
	}
	return nil
}

// sawPack takes in what is in a pack. If it is gone, somebody has taken something of it, and what
// is left has to come before what is behind it.
func (m *Machine) sawPack(b *bucket, e *entry, s machine.Seen) []machine.Effect {
	if s.Code != machine.Done {
		return m.fail(s.Err)
	}
	p := m.waiting(b, e)
	data, ok := place.Unwrap(s.Data)
	switch {
	case s.Exists && ok && len(data) == e.pack.Len():
		b.texts[e.pack.Seq] = &text{first: e.pack.First, data: data}
	case p == nil:
	case !s.Exists && p.pack == e:
		return m.overtaken(nil)
	case s.Exists:
		b.foreign[e.name] = true
		delete(b.known, e.name)
		m.afresh(nil)
		return nil
	}
	if p == nil {
		return nil
	}
	return m.handOut(b, p.pack)
}

// batch are picks of one pack that follow each other, and whose data come from one reading.
type batch []*pick

// batches divides picks into those of packs, and single ones.
func batches(picks []*pick) []batch {
	var all []batch
	for n, p := range picks {
		if n > 0 && p.pack != nil && picks[n-1].pack == p.pack && picks[n-1].text == p.text && picks[n-1].entry.Part+1 == p.entry.Part {
			all[len(all)-1] = append(all[len(all)-1], p)
			continue
		}
		all = append(all, batch{p})
	}
	return all
}

// now is the pack as it is when those before the picks are taken.
func (b batch) now() place.Pack { return b[0].pack.pack.Part(b[0].entry.Part, b[0].pack.pack.Last) }

// taken is the pack of the picks themselves.
func (b batch) taken() place.Pack {
	return b[0].pack.pack.Part(b[0].entry.Part, b[len(b)-1].entry.Part)
}

// unpack are the operations that take the picks out of their pack: what is left of it stays where
// it is.
func (b batch) unpack() []machine.Op {
	dir, text, now := b[0].bucket.path, b[0].text, b.now()
	ops := []machine.Op{{Do: machine.Delete, Path: znode.Join(dir, now.Name()), Version: machine.Any}}
	rest := now.Part(b.taken().Last+1, now.Last)
	switch {
	case rest.Len() == 0:
		return ops
	case !text.covers(rest): // packs never grow, so nobody but a foreigner has made this one: read it
		delete(b[0].bucket.texts, now.Seq)
		return []machine.Op{{Do: machine.Check, Path: ops[0].Path, Version: -2}}
	}
	return append(ops, text.create(dir, rest))
}

// covers tells whether all data of a pack are known.
func (t *text) covers(p place.Pack) bool {
	return t.first <= p.First && p.Last < t.first+len(t.data)
}

// size is how large the data of a pack are together; 0 if they are not all known.
func (t *text) size(p place.Pack) int {
	size := 0
	if t.covers(p) {
		for _, d := range t.data[p.First-t.first : p.Last-t.first+1] {
			size += len(d)
		}
	}
	return size
}

// create is the operation that makes a pack.
func (t *text) create(dir string, p place.Pack) machine.Op {
	return machine.Op{Do: machine.Create, Path: znode.Join(dir, p.Name()), Data: place.Wrap(t.data[p.First-t.first : p.Last-t.first+1])}
}
