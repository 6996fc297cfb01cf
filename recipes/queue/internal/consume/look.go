package consume

import (
	"cmp"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// look asks for what a dispatcher has to know.
func (m *Machine) look() {
	if !m.line.first() {
		return
	}
	v, root := &m.view, m.cfg.Root
	if v.buckets == nil {
		m.once(machine.List{Path: root.Work(), Watch: true}, key{purpose: looking})
	}
	if !v.back {
		m.once(machine.List{Path: root.Returned(), Watch: true}, key{purpose: collecting})
	}
	if v.cursor == nil {
		m.once(machine.Read{Path: root.Cursor()}, key{purpose: measuring})
	}
	switch {
	case m.busy(counting), m.busy(calling):
	case v.journals == nil: // before those that live: a journal is never older than its consumer
		m.once(machine.List{Path: root.Journals()}, key{purpose: counting})
	case v.alive == nil:
		m.once(machine.List{Path: root.Living(), Watch: true}, key{purpose: calling})
	default:
		m.inherit()
	}
}

func (m *Machine) once(r machine.Request, k key) {
	if !m.requests.Pending(k) {
		m.requests.Ask(r, k)
	}
}

// pick is what can be claimed now. It asks for buckets that have to be known first.
func (m *Machine) pick() pick {
	if !m.line.first() || !m.view.known() || m.free() == 0 {
		return pick{}
	}
	p := m.view.pick(m.free(), m.clock.now)
	for _, b := range p.need {
		m.once(machine.List{Path: m.cfg.Root.Bucket(b), Watch: true}, key{scanning, b.Name()})
	}
	for _, b := range p.open { // nobody seals it who puts into the higher one
		m.once(machine.Transact{Ops: []machine.Op{
			{Do: machine.Set, Path: m.cfg.Root.Bucket(b), Version: 0},
		}}, key{clearing, b.Name()})
	}
	return p
}

func (m *Machine) onFired(ev machine.Fired) {
	v, root := &m.view, m.cfg.Root
	switch {
	case ev.Path == root.Alive(m.own.tag) && ev.Change == machine.Deleted:
		m.unguarded()
	case ev.Path == root.Alive(m.own.tag):
		m.own.guarded = false
	case ev.Path == m.line.ahead:
		m.line.ahead = ""
	case ev.Path == root.Work():
		v.buckets = nil
	case ev.Path == root.Returned():
		v.back = false
	case ev.Path == root.Living():
		v.journals, v.alive = nil, nil
	default:
		for b := range v.listings {
			if root.Bucket(b) == ev.Path {
				delete(v.listings, b)
			}
		}
		for b := range m.later.listings {
			if root.Bucket(b) == ev.Path {
				delete(m.later.listings, b)
			}
		}
	}
}

// onListed takes a listing in.
func (m *Machine) onListed(k key, ev machine.Listed) {
	if ev.Code != machine.Done && ev.Code != machine.NoNode {
		m.refused(ev.Path, ev.Err)
		return
	}
	if ev.Code == machine.NoNode && k.purpose != scanning && k.purpose != finding {
		m.prepare(0)
		return
	}
	v := &m.view
	switch k.purpose {
	case looking:
		m.report(ev.Path, ev.Names, isBucket)
		v.sees(bucketsIn(ev.Names), m.requests.Last())
		m.later.tail.Listed(ev.Names)
	case scanning:
		b, _ := place.ParseBucket(k.at) // as it was asked for
		if ev.Code == machine.NoNode {
			v.buckets = nil // deleted meanwhile
			return
		}
		if v.listings == nil {
			return // this consumer does not look any more
		}
		if b.Lane.Later {
			m.report(ev.Path, ev.Names, isDelayed)
			m.later.shows(b, ev.Names)
			return
		}
		m.report(ev.Path, ev.Names, isItems)
		v.shows(b, ev.Names, ev.Stat.Version, ev.Ask)
	case collecting:
		v.back = true
		m.report(ev.Path, ev.Names, isReturned)
		v.returned = returnedIn(ev.Names)
	case counting:
		v.journals = append([]string{}, ev.Names...)
		slices.Sort(v.journals)
	case calling:
		v.alive = make(map[string]bool)
		for _, name := range ev.Names {
			v.alive[name] = true
		}
	case finding:
		m.onFound(k.at, ev)
	}
}

func bucketsIn(names []string) (buckets []place.Bucket) {
	for _, name := range names {
		if b, ok := place.ParseBucket(name); ok {
			buckets = append(buckets, b)
		}
	}
	return buckets
}

func returnedIn(names []string) (all []layout.Returned) {
	for _, name := range names {
		if r, ok := layout.ParseReturned(name); ok {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b layout.Returned) int { return cmp.Or(a.Compare(b.Position), cmp.Compare(a.Name(), b.Name())) })
	return all
}

func (m *Machine) onMeasured(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		m.refused(ev.Path, ev.Err)
	case !ev.Exists:
		m.prepare(0)
	default:
		cursor, ok := layout.ParseCursor(ev.Data)
		if !ok {
			m.refused(ev.Path, errForeign)
			return
		}
		m.view.cursor, m.view.version = cursor, ev.Stat.Version
	}
}
