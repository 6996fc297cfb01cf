package consume

import (
	"maps"
	"slices"

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
	*wire
	swept map[place.Bucket]bool           // since the last sweep
	stays map[place.Bucket]map[string]int // in how many sweeps one after the other a name was shown
	clean map[place.Bucket]bool           // empty for good, and stays all the same
	audit *audit                          // nil: none is under way
	lost  []layout.Returned               // what it has found, and is being returned
}

// renew begins anew.
func (s *scrub) renew() {
	s.Forget(key{purpose: auditing})
	*s = scrub{wire: s.wire, swept: make(map[place.Bucket]bool), stays: make(map[place.Bucket]map[string]int), clean: make(map[place.Bucket]bool)}
}

// tidy lists the buckets up to the cursor, once a sweep.
func (s *scrub) tidy(v *view) {
	if !v.known() {
		return
	}
	old := false
	for _, lane := range slices.SortedFunc(maps.Keys(v.buckets), place.Lane.Compare) {
		mark := v.cursor.Of(lane)
		for _, n := range v.buckets[lane] {
			b := place.Bucket{Lane: lane, Number: n}
			switch {
			case lane.Later, n > mark.Number, n == mark.Number && v.listings[b].all == 0, s.clean[b]:
			case s.swept[b]:
				old = true
			default:
				old, s.swept[b] = true, true
				s.once(machine.List{Path: s.root.Bucket(b)}, key{sweeping, b.Name()})
			}
		}
	}
	if old {
		s.once(machine.Wake{After: sweep}, key{purpose: resting})
	}
}

// rested: it is time for the next sweep. Buckets that are gone are forgotten.
func (s *scrub) rested(v *view) {
	clear(s.swept)
	if v.buckets != nil {
		maps.DeleteFunc(s.stays, func(b place.Bucket, _ map[string]int) bool { return !slices.Contains(v.buckets[b.Lane], b.Number) })
		maps.DeleteFunc(s.clean, func(b place.Bucket, _ bool) bool { return !slices.Contains(v.buckets[b.Lane], b.Number) })
	}
	if s.audit == nil && len(s.suspects()) > 0 {
		s.audit = newAudit(s.root)
		s.ask(s.audit.begin())
	}
}

// suspects are the buckets in which something has lain for two sweeps.
func (s *scrub) suspects() (buckets []place.Bucket) {
	for _, b := range slices.SortedFunc(maps.Keys(s.stays), place.Bucket.Compare) {
		for _, times := range s.stays[b] {
			if times >= 2 {
				buckets = append(buckets, b)
				break
			}
		}
	}
	return buckets
}

// onSwept takes in the listing of a bucket that the cursor has reached.
func (s *scrub) onSwept(ev machine.Listed, b place.Bucket, v *view) {
	top := 0
	for _, n := range v.buckets[b.Lane] {
		top = max(top, n)
	}
	switch {
	case ev.Code != machine.Done:
		delete(s.stays, b)
	case len(ev.Names) > 0:
		was := s.stays[b]
		s.stays[b] = make(map[string]int, len(ev.Names))
		for _, name := range ev.Names {
			s.stays[b][name] = was[name] + 1
		}
	case b.Number < top && b.Number > 0 && !s.avoided[ev.Path]: // sealed
		delete(s.stays, b)
		s.Ask(machine.Transact{Ops: []machine.Op{
			{Do: machine.Delete, Path: ev.Path, Version: 1},
		}}, key{clearing, b.Name()})
	default:
		delete(s.stays, b)
		s.clean[b] = b.Number < top // another one may be put into the open one
	}
}

// ask sends the next request of the audit.
func (s *scrub) ask(r machine.Request) { s.Ask(r, key{purpose: auditing}) }

// onAudited takes in the answer to it. At the end what nobody names is returned.
func (s *scrub) onAudited(ev machine.Event) {
	a := s.audit
	next, ok := a.step(ev, s.suspects())
	if ok && next != nil {
		s.ask(next)
		return
	}
	s.audit = nil
	if !ok || len(a.lost) == 0 {
		return
	}
	s.lost = a.lost
	s.Ask(machine.Transact{Ops: a.recovery()}, key{purpose: returning})
}

// onReturned reports what was returned.
func (s *scrub) onReturned(ev machine.Transacted) {
	for _, r := range s.lost {
		if ev.Code == machine.Done {
			s.Emit(Skipped{Path: s.root.Work() + "/" + r.Position.String(), Err: errUnnamed})
		}
	}
	s.lost = nil
}
