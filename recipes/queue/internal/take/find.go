package take

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// vainCuts is how often in a row a span is tried to be cut that is there.
const vainCuts = 3

// find looks where the items of a span lie. The answer to a cut was lost, or it failed: somebody
// has deleted an item, or all of them. What is not there was settled by the lost one, and otherwise
// is lost.
func (m *Machine) find(c *cut, unknown bool, known func()) []machine.Effect {
	s := c.span
	for _, h := range c.items {
		h.doubt = unknown
	}
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		known()
		for _, h := range c.items {
			h.doubt = false
		}
		l := ev.(machine.Listed)
		if l.Code != machine.Done && l.Code != machine.NoNode {
			var effects []machine.Effect
			for _, h := range c.items {
				effects = append(effects, m.finish(h, l.Err)...)
			}
			return effects
		}
		return m.found(s, l.Names, unknown)
	})
	return []machine.Effect{machine.List{Epoch: m.epoch, Ask: ask, Path: s.run.bucket.path}}
}

// found takes in where they lie.
func (m *Machine) found(s *span, names []string, unknown bool) []machine.Effect {
	items, vain := s.items, s.vain+1
	for _, h := range items {
		if h.span == s {
			h.span = &span{lost: true}
		}
	}
	others := make(map[int]bool)
	for _, name := range names {
		p, ok := place.ParsePack(name, s.run.bucket.at.Lane)
		switch {
		case !ok || p.Seq != s.pack.Seq:
			continue
		case p.Tries != s.pack.Tries: // claimed again
			for part := max(p.First, s.pack.First); part <= min(p.Last, s.pack.Last); part++ {
				others[part] = true
			}
			continue
		}
		at := &span{run: s.run, text: s.text, vain: vain}
		at.lies(p)
		at.lost = !s.text.covers(p) || vain > vainCuts && !unknown
		var here []*held
		for _, h := range items {
			if h.span.lost {
				here = append(here, h)
			}
		}
		at.take(here)
	}
	var effects []machine.Effect
	for _, h := range items {
		switch {
		case h.gone || h.how == 0:
		case !h.span.lost:
			m.settleAgain(h)
		case unknown && !others[h.pick.entry.Part]:
			effects = append(effects, m.settleNever(h, nil)...)
		default:
			effects = append(effects, m.settleNever(h, ErrLost)...)
		}
	}
	return effects
}
