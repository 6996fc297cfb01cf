package take

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// span is a pack that is claimed here. While the claim stands nobody else has a reason to touch it;
// whoever does changes its name.
type span struct {
	run   *run
	pack  place.Pack
	path  string
	text  *text
	items []*held // that lie in it; some may be settled or lost by now
	lost  bool    // it is not there any more
	vain  int     // how often in a row it could not be cut
}

// newSpan is what a batch becomes when it is claimed.
func newSpan(r *run, b batch, items []*held) *span {
	p := b.taken()
	p.Tries++
	s := &span{run: r, text: b[0].text}
	s.lies(p)
	s.take(items)
	return s
}

func (s *span) lies(p place.Pack) {
	s.pack, s.path = p, znode.Join(s.run.bucket.path, p.Name())
}

// take takes items in.
func (s *span) take(items []*held) {
	for _, h := range items {
		if part := h.pick.entry.Part; s.pack.First <= part && part <= s.pack.Last {
			h.span = s
			s.items = append(s.items, h)
		}
	}
}

// cut is what a transaction does to a span of which some items are settled.
type cut struct {
	span  *span
	items []*held // that are settled
	parts []place.Pack
	whole bool // the span stays as it is
}

// cuts are those that settling some items takes.
func cuts(items []*held) []*cut {
	var all []*cut
	of := make(map[*span]*cut)
	for _, h := range items {
		if h.span == nil {
			continue
		}
		if of[h.span] == nil {
			of[h.span] = &cut{span: h.span}
			all = append(all, of[h.span])
		}
		of[h.span].items = append(of[h.span].items, h)
	}
	return all
}

// divide divides what is left of a span: what is given back, and what is not settled. Who is not
// known here any more is not settled.
func (c *cut) divide() {
	how := make(map[int]How, len(c.items))
	for _, h := range c.items {
		how[h.pick.entry.Part] = h.how
	}
	p := c.span.pack
	for part := p.First; part <= p.Last; part++ {
		last := len(c.parts) - 1
		switch given := how[part] != 0; {
		case how[part] == Ack:
		case last >= 0 && c.parts[last].Last == part-1 && (how[part-1] != 0) == given:
			c.parts[last].Last = part
		default:
			c.parts = append(c.parts, p.Part(part, part))
		}
	}
}

// bury divides a span of which one item goes.
func (c *cut) bury() {
	p, part := c.span.pack, c.items[0].pick.entry.Part
	for _, rest := range []place.Pack{p.Part(p.First, part-1), p.Part(part+1, p.Last)} {
		if rest.Len() > 0 {
			c.parts = append(c.parts, rest)
		}
	}
}

// ops are the operations of a cut.
func (c *cut) ops() []machine.Op {
	ops := []machine.Op{{Do: machine.Delete, Path: c.span.path, Version: machine.Any}}
	for _, p := range c.parts {
		ops = append(ops, c.span.text.create(c.span.run.bucket.path, p))
	}
	return ops
}

// carriedOut takes in that a span is divided.
func (c *cut) carriedOut() {
	if c.whole {
		return
	}
	for _, p := range c.parts {
		s := &span{run: c.span.run, text: c.span.text}
		s.lies(p)
		s.take(c.span.items)
	}
}

// settleCut adds the operations that settle items of a span.
func (m *Machine) settleCut(s *settlement, c *cut) {
	acks := 0
	for _, h := range c.items {
		if h.how == Ack {
			acks++
		}
	}
	goes := s.runs[c.span.run]
	if c.whole = acks == 0 && (goes || len(c.items) == c.span.pack.Len()); c.whole { // it is free when the claim is gone, or marked
		s.add(nil, c, machine.Op{Do: machine.Check, Path: c.span.path, Version: machine.Any})
	} else {
		c.divide()
		for _, op := range c.ops() {
			s.add(nil, c, op)
		}
	}
	s.cuts = append(s.cuts, c)
	for _, h := range c.items {
		if h.how != Ack && !goes {
			s.add(h, nil, machine.Op{Do: machine.Create, Path: h.run.mark(h), Ephemeral: true})
		}
	}
}
