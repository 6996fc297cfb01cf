package consume

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// How many buckets a look lists, and how many items are read in a trip, at the most.
const (
	bucketsTogether = 8
	readTogether    = 8
)

// large is the size of an item next to which no others are read in the same trip: listings do not
// tell sizes.
const large = 32 << 10

// search looks for free items. A look is one trip; it lists the buckets that the one before has
// shown, and names them again, before: so a bucket counts as searched by a listing that is not
// older than what shows the next one.
type search struct {
	*base
	rng     *rand.Rand
	buckets []layout.Bucket        // by the last look, in order
	slots   []layout.Bucket        // so those of later/
	asked   []layout.Bucket        // by the look under way
	empty   map[layout.Bucket]bool // sealed, and empty for good
	passed  map[layout.Bucket]bool // without a free item, by a look of this search
	free    []layout.Item          // that were found and not tried yet, in order
	unended bool                   // there are buckets behind them that were not listed
	width   int                    // how many buckets the next look lists: as many as were needed
	large   bool                   // what was read last is
	losses  int                    // since the last look
	window  int                    // in which the next is drawn: rivals that begin at the same item lose all but one
}

// begin begins a search.
func (s *search) begin() { s.passed = make(map[layout.Bucket]bool) }

// drop forgets what was found: a listing is for one claim.
func (s *search) drop() {
	s.free, s.unended, s.losses = nil, false, 0
}

// queries are those of a look: the line, the buckets, and what is in the first of them.
func (s *search) queries(slots []layout.Bucket) []machine.Query {
	all := []machine.Query{
		{Path: s.root.Line(), Children: true}, {Path: s.root.Items(), Children: true}, {Path: s.root.Later(), Children: true},
	}
	for _, b := range slots {
		all = append(all, machine.Query{Path: s.root.Bucket(b), Children: true})
	}
	s.asked = nil
	guess := s.buckets
	if len(guess) == 0 {
		guess = []layout.Bucket{{}} // where most items are
	}
	for _, b := range guess {
		if len(s.asked) < s.width && !s.passes(b) {
			s.asked = append(s.asked, b)
			path := s.root.Bucket(b)
			all = append(all, machine.Query{Path: path}, machine.Query{Path: s.root.ClaimsOf(b), Children: true},
				machine.Query{Path: path, Children: true})
		}
	}
	return all
}

func (s *search) passes(b layout.Bucket) bool {
	return s.passed[b] || s.empty[b] || s.avoided[s.root.Bucket(b)]
}

// name takes in the names of the buckets. What was searched before one appeared may have got more
// items meanwhile.
func (s *search) name(items, later []string) {
	was := s.buckets
	s.buckets, s.slots = nil, nil
	for _, name := range items {
		if b, ok := layout.ParseBucket(name); ok {
			s.buckets = append(s.buckets, b)
			if !slices.Contains(was, b) {
				clear(s.passed)
			}
		}
	}
	for _, name := range later {
		if b, ok := layout.ParseSlot(name); ok {
			s.slots = append(s.slots, b)
		}
	}
	slices.SortFunc(s.buckets, layout.Bucket.Compare)
	slices.SortFunc(s.slots, layout.Bucket.Compare)
	for b := range s.empty {
		if !slices.Contains(s.buckets, b) {
			delete(s.empty, b)
		}
	}
}

// take takes in what is in the buckets that were asked for. It returns those that can be deleted.
func (s *search) take(answers []machine.Event, had func(layout.Item) bool) (over []layout.Bucket) {
	s.drop()
	found := make(map[layout.Bucket][]layout.Item)
	for n, b := range s.asked {
		state, _ := answers[3*n].(machine.Seen)
		claims, _ := answers[3*n+1].(machine.Listed)
		items, _ := answers[3*n+2].(machine.Listed) // behind the claims: what is acknowledged meanwhile does not look free
		for _, ev := range []machine.Listed{items, claims} {
			if ev.Code != machine.Done && ev.Code != machine.NoNode {
				s.skip(s.root.Bucket(b), ev.Err)
			}
		}
		if sealed := state.Exists && state.Stat.Version > 0; sealed && items.Code == machine.Done && len(items.Names) == 0 {
			if b.Number > 0 {
				over = append(over, b)
			} else {
				s.empty[b] = true
			}
		}
		found[b] = s.freeOf(b, items.Names, claims.Names, had)
		s.passed[b] = len(found[b]) == 0
	}
	need := 0
	for _, b := range s.buckets {
		_, listed := found[b]
		if s.unended = !listed && !s.passes(b); s.unended {
			break
		}
		if !s.empty[b] && len(s.free) < s.window {
			need++
		}
		s.free = append(s.free, found[b]...)
	}
	if s.width = max(need, 1); s.unended && len(s.free) < s.window {
		s.width = min(2*s.width, bucketsTogether)
	}
	return over
}

// freeOf are the items of a bucket that are not claimed.
func (s *search) freeOf(b layout.Bucket, items, claims []string, had func(layout.Item) bool) (free []layout.Item) {
	claimed := make(map[string]bool, len(claims))
	for _, name := range claims {
		claimed[name] = true
	}
	for _, name := range items {
		i, ok := layout.ParseItem(b, name)
		path := znode.Join(s.root.Bucket(b), name)
		switch {
		case !ok:
			s.skip(path, errForeign)
		case !claimed[layout.ClaimName(i.Seq)] && !s.avoided[path] && !had(i):
			free = append(free, i)
		}
	}
	slices.SortFunc(free, func(a, b layout.Item) int { return cmp.Compare(a.Seq, b.Seq) })
	return free
}

// maxWindow bounds the window.
const maxWindow = 64

// pick takes the next items out of what was found: the first, unless others contend for it.
func (s *search) pick(n int) (picked []layout.Item) {
	for len(picked) < n && len(s.free) > 0 {
		k := s.rng.IntN(min(s.window, len(s.free)))
		picked = append(picked, s.free[k])
		s.free = slices.Delete(s.free, k, k+1)
	}
	return picked
}

func (s *search) queriesOf(all []layout.Item) (queries []machine.Query) {
	for _, i := range all {
		queries = append(queries, machine.Query{Path: i.Path(s.root)})
	}
	return queries
}

// opened are the items that were read. Those that cannot be, or make no sense, are passed over.
func (s *search) opened(at []layout.Item, answers []machine.Event) (items []*item, gone int) {
	s.large = false
	for n, i := range at {
		ev, _ := answers[n].(machine.Seen)
		record, ok := layout.ParseRecord(ev.Data)
		s.large = s.large || len(ev.Data) > large
		switch {
		case ev.Code != machine.Done:
			s.skip(ev.Path, ev.Err)
		case !ev.Exists:
			gone++
		case !ok:
			s.skip(ev.Path, errForeign)
		default:
			items = append(items, &item{
				at: i, data: ev.Data, record: record, version: ev.Stat.Version, owned: ev.Stat.Owner != 0, idFreed: record.ID == "",
			})
		}
	}
	return items, gone
}

// lost takes in that somebody else has an item.
func (s *search) lost() {
	s.losses++
	s.window = min(2*s.window, maxWindow)
}

// won takes in a claim.
func (s *search) won() {
	s.window = max(s.window/2, 1)
	s.drop()
}
