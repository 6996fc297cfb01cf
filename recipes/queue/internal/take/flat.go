package take

import (
	"cmp"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// lookFlat sets up the one bucket of a layout that has none.
func (m *Machine) lookFlat() []machine.Effect {
	if m.root.listed || m.wanted() <= 0 {
		return nil
	}
	m.root.listed = true
	b := &bucket{path: m.cfg.Site.Flat, last: true}
	m.buckets[b.path], m.order = b, []*bucket{b}
	return nil
}

// listFlat lists the items of a layout without buckets, and its claims, which lie apart.
func (m *Machine) listFlat(b *bucket) []machine.Effect {
	if b.asked {
		return nil
	}
	b.asked, b.dirty, b.stale = true, false, false
	var names, claims []string
	left := 1
	both := func() {
		if left--; left == 0 {
			b.asked = false
			m.listedFlat(b, names, claims)
		}
	}
	effects := m.listAt(b, b.path, func(l []string) {
		names = l
		both()
	})
	if m.cfg.Taken != "" {
		left++
		effects = append(effects, m.listAt(b, m.cfg.Taken, func(l []string) {
			claims = l
			both()
		})...)
	}
	return effects
}

// listAt lists a znode that others may not have made yet.
func (m *Machine) listAt(b *bucket, path string, then func(names []string)) []machine.Effect {
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		l := ev.(machine.Listed)
		switch l.Code {
		case machine.Done:
			then(l.Names)
			return nil
		case machine.NoNode:
			b.stale = true // to be listed again, with a watch, once it is there
			made := m.ask(func(ev machine.Event) []machine.Effect {
				if e := ev.(machine.Ensured); e.Code != machine.Done {
					return m.fail(e.Err)
				}
				then(nil)
				return nil
			})
			return []machine.Effect{machine.Ensure{Epoch: m.epoch, Ask: made, Path: path}}
		}
		return m.fail(l.Err)
	})
	return []machine.Effect{machine.List{Epoch: m.epoch, Ask: ask, Path: path, Watch: true}}
}

func (m *Machine) listedFlat(b *bucket, names, claims []string) {
	b.listed, b.claimed = true, len(claims)
	b.free = b.free[:0]
	for _, name := range names {
		if i, ok := m.cfg.Parse(name); ok && !slices.Contains(claims, name) {
			b.free = append(b.free, &entry{Item: i, name: name})
		}
	}
	slices.SortFunc(b.free, func(a, c *entry) int {
		return cmp.Or(cmp.Compare(a.Priority, c.Priority), znode.CompareSeq(a.Seq, c.Seq))
	})
	m.dropPicks(b)
	m.hide(b)
}
