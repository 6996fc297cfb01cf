package produce

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// size is what is believed of how much lies in the queue.
type size struct {
	layout.Size                 // without a capacity: it has none
	version     int32           // of its znode
	items       int32           // of the parent of the items
	later       int32           // of that of what is not due
	buckets     []machine.Query // that were there
	counted     bool            // Items lay there
}

func (s *size) fits(p *put, beside int) bool {
	return s.Capacity == 0 || p.Back || s.Items+beside+len(p.Items) <= s.Capacity
}

// put are the operations that a put of some items has for the capacity's sake.
func (s *size) put(r layout.Root, items int) []machine.Op {
	if s.Capacity == 0 {
		return []machine.Op{{Do: machine.Check, Path: r.Items(), Version: s.items}}
	}
	now := layout.Size{Capacity: s.Capacity, Items: s.Items + items}
	ops := []machine.Op{{Do: machine.Set, Path: r.Size(), Data: now.Write(), Version: s.version}}
	if s.counted {
		ops = append(ops, machine.Op{Do: machine.Check, Path: r.Later(), Version: s.later})
	}
	return ops
}

// look asks what the queue is like. A version comes before what is good for as long as it stands:
// that of items before whether there is a capacity, all of them before what lies there.
func (m *Machine) look() {
	r := m.cfg.Root
	m.read([]machine.Query{
		{Path: r.Items()}, {Path: r.Size()}, {Path: r.Later()}, {Path: r.Items(), Children: true}, {Path: r.Later(), Children: true},
	}, func(a []machine.Event) {
		items, capacity, later := a[0].(machine.Seen), a[1].(machine.Seen), a[2].(machine.Seen)
		buckets, slots := a[3].(machine.Listed), a[4].(machine.Listed)
		m.tail.Listed(buckets.Names, slots.Names)
		written, ok := layout.ParseSize(capacity.Data)
		m.size = size{Size: written, version: capacity.Stat.Version, items: items.Stat.Version, later: later.Stat.Version}
		m.size.buckets = []machine.Query{{Path: r.Bell()}} // it has no children: there may be nothing else to ask
		for _, l := range []machine.Listed{buckets, slots} {
			for _, name := range l.Names {
				m.size.buckets = append(m.size.buckets, machine.Query{Path: znode.Join(l.Path, name)})
			}
		}
		switch {
		case capacity.Exists && !ok:
			m.refused(ErrCapacity)
		case !items.Exists || !later.Exists: // if they are not those that are made then, the transaction fails
			m.makeBase()
		}
	})
}

// bind asks for what has to be known of the capacity, and gives the queue one if it is to have one.
// False: nothing is missing.
//
// Size never says less than what lies in the queue: each put adds to it, and what is taken out
// leaves it alone. A put that does not fit by it counts, when it waits already. What is counted is
// not less than what is there, though buckets are read one after another: puts change size, and
// moves set later, and the put is carried out only if both are as before. It may be more, if
// something is moved: so a put is refused only if they are as before, too.
//
// A queue gets its capacity while nothing lies in it, and is full by what is written then: the
// first put counts. Giving sets items, whose version a put without a capacity checks: a producer is
// bound that had looked before. What is put between look and gift stays, and counts.
func (m *Machine) bind() bool {
	r, s, want := m.cfg.Root, &m.size, m.cfg.Capacity
	none := s.Capacity == 0
	switch {
	case want > 0 && (!none && s.Capacity != want || none && s.counted && s.Items > 0):
		m.refused(ErrCapacity)
	case !(none && want > 0) && s.fits(m.puts[0], 0):
		return false
	case m.puts[0].clock == 0:
		m.sync()
	case s.buckets == nil:
		m.look()
	case !s.counted:
		m.read(s.buckets, func(answers []machine.Event) {
			s.counted, s.Items = true, 0
			for _, a := range answers {
				s.Items += int(a.(machine.Seen).Stat.Children)
			}
		})
	case none:
		m.transact(func([]machine.Result) { m.tail.Forget() },
			machine.Op{Do: machine.Set, Path: r.Items(), Version: s.items},
			machine.Op{Do: machine.Create, Path: r.Size(), Data: layout.Size{Capacity: want, Items: want}.Write()})
	default:
		m.transact(func([]machine.Result) {
			for _, p := range slices.Clone(m.puts) {
				if p.clock != 0 && !s.fits(p, 0) {
					m.settle(p, ErrFull)
				}
			}
		}, machine.Op{Do: machine.Check, Path: r.Size(), Version: s.version}, machine.Op{Do: machine.Check, Path: r.Later(), Version: s.later})
	}
	return true
}
