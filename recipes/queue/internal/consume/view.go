package consume

import (
	"maps"
	"slices"

	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// view is what a dispatcher knows of the queue.
type view struct {
	*wire
	buckets  map[place.Lane][]int    // their numbers, in order; nil: not known
	passed   map[place.Bucket]uint64 // of which there is a higher one: the number of the last request by then
	listings map[place.Bucket]listing
	returned []layout.Returned // in order of position
	back     bool              // returned is known
	cursor   layout.Cursor     // nil: not known
	version  int32             // of the cursor
}

// leave forgets everything: it is nobody else's business from now on, and what the watches still
// say is not heard.
func (v *view) leave() { *v = view{wire: v.wire} }

// listing is a bucket as it was shown.
type listing struct {
	znodes []layout.Znode // in order, only those that were put
	sealed bool           // it was sealed then: nothing comes behind what it showed
	all    int            // how many znodes there are
	asked  uint64         // the number of the request
}

// found is something that can be claimed.
type found struct {
	entry    layout.Entry
	name     string // of the znode; "": not known
	returned string // the name of the entry that it comes from; "": it was never claimed
}

// pick is what to claim, and what has to be known first.
type pick struct {
	found  []found
	cursor layout.Cursor // after the claim; nil: it does not move
	need   []place.Bucket
	open   []place.Bucket // to be sealed: there is a higher one
	due    int64          // when the next comes that is not due yet; 0: none
}

// sees takes the queue's buckets in. ask is the number of the last request so far: a listing that
// is asked for later shows all of a bucket that is sealed by now.
func (v *view) sees(buckets []place.Bucket, ask uint64) {
	v.buckets = make(map[place.Lane][]int)
	if v.passed == nil {
		v.passed, v.listings = make(map[place.Bucket]uint64), make(map[place.Bucket]listing)
	}
	slices.SortFunc(buckets, place.Bucket.Compare)
	for _, b := range buckets {
		for _, n := range v.buckets[b.Lane] {
			before := place.Bucket{Lane: b.Lane, Number: n}
			if _, known := v.passed[before]; !known {
				v.passed[before] = ask
			}
		}
		v.buckets[b.Lane] = append(v.buckets[b.Lane], b.Number)
	}
}

// known tells whether all is known that a claim needs, but for buckets.
func (v *view) known() bool {
	return v.buckets != nil && v.back && v.cursor != nil
}

// inTurn sorts lanes by priority. The shards of a priority take turns, so that none starves.
func inTurn(lanes map[place.Lane]bool, turn uint64) []place.Lane {
	sorted := slices.SortedFunc(maps.Keys(lanes), place.Lane.Compare)
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to].Priority == sorted[from].Priority && sorted[to].Later == sorted[from].Later {
			to++
		}
		shards := sorted[from:to]
		n := int(turn % uint64(len(shards)))
		copy(shards, append(slices.Clone(shards[n:]), shards[:n]...))
		from = to
	}
	return sorted
}

// pick chooses what comes first: most items, or one znode that has more. now is the servers' clock,
// and turn grows with each claim.
func (v *view) pick(most int, now int64, turn uint64) pick {
	p := pick{}
	lanes := make(map[place.Lane]bool)
	for l := range v.buckets {
		lanes[l] = !l.Later
	}
	for _, r := range v.returned {
		lanes[r.Bucket.Lane] = true
	}
	count := 0
	for _, l := range inTurn(lanes, turn) {
		for _, r := range v.returned {
			switch {
			case r.Bucket.Lane != l, v.avoided[v.root.Back(r)]:
			case r.Due > now:
				if p.due == 0 || r.Due < p.due {
					p.due = r.Due
				}
			case count < most:
				p.found = append(p.found, found{entry: r.Entry, returned: r.Name()})
				count += r.Len()
			}
		}
		if lanes[l] && count < most {
			count += v.fresh(&p, l, most-count)
		}
		if count >= most || len(p.need)+len(p.open) > 0 {
			break
		}
	}
	return p
}

// fresh chooses from behind the cursor of a lane.
func (v *view) fresh(p *pick, l place.Lane, most int) (count int) {
	at := v.cursor.Of(l)
	if p.cursor != nil {
		at = p.cursor.Of(l)
	}
	moved := false
	for count < most {
		b, ok := v.bucket(l, &at)
		if !ok {
			break
		}
		shown, known := v.listings[b]
		if !known && v.avoided[v.root.Bucket(b)] {
			break
		}
		if !known {
			p.need = append(p.need, b)
			break
		}
		for _, z := range shown.znodes {
			if z.Seq > at.Seq && count < most {
				p.found = append(p.found, found{entry: layout.Whole(b, z), name: z.Name()})
				count += z.Count
				at.Seq, moved = z.Seq, true
			}
		}
		if count >= most {
			break
		}
		passed, ok := v.passed[b]
		switch {
		case shown.sealed:
		case !ok:
			return v.moved(p, l, at, moved, count)
		case shown.asked <= passed: // it may have been sealed since
			p.need = append(p.need, b)
			return v.moved(p, l, at, moved, count)
		default:
			p.open = append(p.open, b)
			return v.moved(p, l, at, moved, count)
		}
		at = layout.Mark{Number: b.Number + 1, Seq: -1}
	}
	return v.moved(p, l, at, moved, count)
}

func (v *view) moved(p *pick, l place.Lane, at layout.Mark, moved bool, count int) int {
	if moved {
		if p.cursor == nil {
			p.cursor = maps.Clone(v.cursor)
		}
		p.cursor[l] = at
	}
	return count
}

// bucket is the one that the mark is in, or the next that there is: those between were empty when
// they were deleted.
func (v *view) bucket(l place.Lane, at *layout.Mark) (place.Bucket, bool) {
	for _, n := range v.buckets[l] {
		switch {
		case n == at.Number:
			return place.Bucket{Lane: l, Number: n}, true
		case n > at.Number:
			*at = layout.Mark{Number: n, Seq: -1}
			return place.Bucket{Lane: l, Number: n}, true
		}
	}
	return place.Bucket{}, false
}

// measured takes in that a transaction has moved the cursor, unless that has been read again since.
func (v *view) measured(t *txn, version int32) {
	if v.cursor != nil && v.version == t.from {
		v.cursor, v.version = t.cursor, version
	} else {
		v.cursor = nil
	}
}

// claimed takes in which of what came back was claimed.
func (v *view) claimed(names map[string]bool) {
	v.returned = slices.DeleteFunc(v.returned, func(r layout.Returned) bool { return names[r.Name()] })
}

// shows takes a bucket's listing in.
func (v *view) shows(b place.Bucket, names []string, version int32, ask uint64) {
	shown := listing{asked: ask, sealed: version > 0, all: len(names)}
	for _, name := range names {
		if z, ok := layout.ParseZnode(name); ok && z.Part() == 0 {
			shown.znodes = append(shown.znodes, z)
		}
	}
	slices.SortFunc(shown.znodes, layout.Znode.Compare)
	v.listings[b] = shown
}
