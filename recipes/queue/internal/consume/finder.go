package consume

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// At the most so many buckets are listed, and so many items read, in one trip.
const bucketsTogether, readTogether = 8, 8

// tooLarge is the size of an item that is read in a trip of its own. Listings do not tell sizes:
// the size of the item that was read last is the guess.
const tooLarge = 32 << 10

// finder looks for free items. A listing is one trip of reads, each no older than the one before
// it: first the names of all buckets, then the contents of the first buckets that the listing
// before has named. A search is one or more listings. It ends when each bucket that its last
// listing has named was listed after the names were.
type finder struct {
	base *base
	rng  *rand.Rand
	// By the last listing.
	names   [2][]string            // of the buckets, in items/ and in later/
	buckets []layout.Bucket        // those in items/, in order
	delayed []layout.Bucket        // those in later/, in order
	passed  map[layout.Bucket]bool // without a free item, by this listing or an earlier one of the search
	free    []freeItem             // found and not tried yet, in order
	unended bool                   // behind the buckets of free there are some that were not listed
	losses  int                    // items of this listing that a rival has claimed or removed before
	// How much is asked for.
	asked  []layout.Bucket // the buckets in items/ that the listing under way reads
	width  int             // so many buckets the next listing reads: as many as were needed
	window int             // the next item is drawn from so many: of rivals that try the same item all but one lose
	large  bool            // an item that was read last is too large to be read with others
}

// freeItem is a free item's bucket and name. Few of those that a listing shows are tried: the name
// is parsed then.
type freeItem struct {
	bucket layout.Bucket
	name   string
}

func (f *finder) begin() { f.passed = make(map[layout.Bucket]bool) }

// drop forgets the free items: a listing is for one claim.
func (f *finder) drop() {
	f.free, f.unended, f.losses = nil, false, 0
}

// queries are the reads of a listing: the line, the names of the buckets, the contents of some that
// have a delay, and of the first of the others.
func (f *finder) queries(delayed []layout.Bucket) []machine.Query {
	all := []machine.Query{
		{Path: f.base.root.Line(), Children: true}, {Path: f.base.root.Items(), Children: true}, {Path: f.base.root.Later(), Children: true},
	}
	for _, b := range delayed {
		all = append(all, machine.Query{Path: f.base.root.Bucket(b), Children: true})
	}
	f.asked = nil
	guess := f.buckets
	if len(guess) == 0 {
		guess = []layout.Bucket{{}} // the first one of the usual priority
	}
	for _, b := range guess {
		if len(f.asked) < f.width && !f.passes(b) {
			f.asked = append(f.asked, b)
			path := f.base.root.Bucket(b)
			all = append(all, machine.Query{Path: path}, machine.Query{Path: f.base.root.ClaimsOf(b), Children: true},
				machine.Query{Path: path, Children: true}) // behind the claims: what is acknowledged meanwhile does not look free
		}
	}
	return all
}

func (f *finder) passes(b layout.Bucket) bool {
	return f.passed[b] || f.base.avoided[f.base.root.Bucket(b)]
}

// name takes in the names of the buckets. When a new one has appeared, the buckets before it may
// have got more items since they were listed.
func (f *finder) name(names [2][]string) {
	if slices.Equal(names[0], f.names[0]) && slices.Equal(names[1], f.names[1]) {
		return
	}
	clear(f.passed)
	f.names = names
	f.buckets, f.delayed = parsed(names[0], layout.ParseBucket), parsed(names[1], layout.ParseLater)
}

func parsed(names []string, parse func(string) (layout.Bucket, bool)) (all []layout.Bucket) {
	for _, name := range names {
		if b, ok := parse(name); ok {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, layout.Bucket.Compare)
	return all
}

// listed takes in the contents of the buckets that were asked for: three answers for each, to the
// queries for its state, its claims and its items. It returns the buckets to be deleted: sealed and
// empty. Number 0 stays: see package layout.
func (f *finder) listed(answers []machine.Event) (sealed []layout.Bucket) {
	f.drop()
	need := 0
	for _, b := range f.buckets {
		n := slices.Index(f.asked, b)
		f.unended = n < 0 && !f.passes(b)
		if f.unended { // the next listing of this search begins with b
			break
		}
		if len(f.free) < f.window {
			need++
		}
		if n < 0 { // passed before
			continue
		}
		state, _ := answers[3*n].(machine.Seen)
		claims, _ := answers[3*n+1].(machine.Listed)
		items, _ := answers[3*n+2].(machine.Listed)
		for _, ev := range []machine.Listed{items, claims} {
			if ev.Code != machine.Done && ev.Code != machine.NoNode {
				f.base.skip(f.base.root.Bucket(b), ev.Err)
			}
		}
		if f.passes(b) {
			continue
		}
		isSealed := state.Exists && state.Stat.Version > 0
		isEmpty := items.Code == machine.Done && len(items.Names) == 0
		if isSealed && isEmpty && b.Number > 0 {
			sealed = append(sealed, b)
		}
		free := f.freeOf(b, items.Names, claims.Names)
		f.passed[b] = len(free) == 0
		f.free = append(f.free, free...)
	}
	f.width = max(need, 1)
	if f.unended && len(f.free) < f.window {
		f.width = min(2*f.width, bucketsTogether)
	}
	return sealed
}

// freeOf are the first items of a bucket that are not claimed, as many as are tried before the next
// listing. The names end with numbers of one width, which are the names of the claims.
func (f *finder) freeOf(b layout.Bucket, items, claims []string) (free []freeItem) {
	claimed := make(map[string]bool, len(claims))
	for _, name := range claims {
		claimed[name] = true
	}
	most := f.window + mostLosses*readTogether
	for _, name := range items {
		number := layout.NumberOf(name)
		if claimed[number] || len(f.base.avoided) > 0 && f.base.avoided[znode.Join(f.base.root.Bucket(b), name)] {
			continue
		}
		at, _ := slices.BinarySearchFunc(free, number, func(p freeItem, number string) int {
			return strings.Compare(layout.NumberOf(p.name), number)
		})
		if at < most {
			free = slices.Insert(free[:min(len(free), most-1)], at, freeItem{b, name})
		}
	}
	return free
}

const maxWindow = 64

// pick takes the next items out of the free ones: the first, unless rivals contend for it.
func (f *finder) pick(n int) (picked []layout.Item) {
	for len(picked) < n && len(f.free) > 0 {
		k := f.rng.IntN(min(f.window, len(f.free)))
		at := f.free[k]
		f.free = slices.Delete(f.free, k, k+1)
		if i, ok := layout.ParseItem(at.bucket, at.name); ok {
			picked = append(picked, i)
		} else {
			f.base.skip(znode.Join(f.base.root.Bucket(at.bucket), at.name), errForeign)
		}
	}
	return picked
}

func (f *finder) queriesOf(all []layout.Item) (queries []machine.Query) {
	for _, i := range all {
		queries = append(queries, machine.Query{Path: i.Path(f.base.root)})
	}
	return queries
}

// opened are the items that were read. An item that may not be read, or that no queue has written,
// is passed over.
func (f *finder) opened(at []layout.Item, answers []machine.Event) (items []*item, gone int) {
	f.large = false
	for n, i := range at {
		ev, _ := answers[n].(machine.Seen)
		record, ok := layout.ParseRecord(ev.Data)
		f.large = f.large || len(ev.Data) > tooLarge
		switch {
		case ev.Code != machine.Done:
			f.base.skip(ev.Path, ev.Err)
		case !ev.Exists:
			gone++
		case !ok:
			f.base.skip(ev.Path, errForeign)
		default:
			items = append(items, &item{
				at: i, data: ev.Data, record: record, version: ev.Stat.Version, owned: ev.Stat.Owner != 0, noID: record.ID == "",
			})
		}
	}
	return items, gone
}

// lost takes in that a rival has claimed an item.
func (f *finder) lost() {
	f.losses++
	f.window = min(2*f.window, maxWindow)
}

// won takes in a claim.
func (f *finder) won() {
	f.window = max(f.window/2, 1)
	f.drop()
}
