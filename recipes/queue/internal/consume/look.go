package consume

import (
	"cmp"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// look asks for what a dispatcher has to know.
func (v *view) look() {
	if v.buckets == nil {
		v.list()
	}
	if !v.back {
		v.once(machine.List{Path: v.root.Returned(), Watch: true}, key{purpose: collecting})
	}
	if v.cursor == nil {
		v.once(machine.Read{Path: v.root.Cursor()}, key{purpose: measuring})
	}
}

// list has the buckets listed.
func (v *view) list() {
	v.once(machine.List{Path: v.root.Work(), Watch: true}, key{purpose: looking})
}

// scan has a bucket listed.
func (v *view) scan(b place.Bucket) {
	v.once(machine.List{Path: v.root.Bucket(b), Watch: true}, key{scanning, b.Name()})
}

// ask asks for what a pick has found to be missing.
func (v *view) ask(p pick) {
	for _, b := range p.need {
		v.scan(b)
	}
	for _, b := range p.open { // nobody seals it who puts into the higher one
		if v.avoided[v.root.Bucket(b)] {
			continue
		}
		v.once(machine.Transact{Ops: []machine.Op{
			{Do: machine.Set, Path: v.root.Bucket(b), Version: 0},
		}}, key{clearing, b.Name()})
	}
}

// onFired forgets what has changed.
func (v *view) onFired(path string) {
	switch path {
	case v.root.Work():
		v.buckets = nil
	case v.root.Returned():
		v.back = false
	default:
		for b := range v.listings {
			if v.root.Bucket(b) == path {
				delete(v.listings, b)
			}
		}
	}
}

// onLooked takes the buckets in.
func (v *view) onLooked(ev machine.Listed) {
	v.report(ev.Path, ev.Names, isBucket)
	v.sees(bucketsIn(ev.Names), v.Last())
}

// onScanned takes a bucket's listing in.
func (v *view) onScanned(b place.Bucket, ev machine.Listed) {
	v.report(ev.Path, ev.Names, isItems)
	v.shows(b, ev.Names, ev.Stat.Version, ev.Ask)
}

// onCollected takes in what came back.
func (v *view) onCollected(ev machine.Listed) {
	v.report(ev.Path, ev.Names, isReturned)
	v.back, v.returned = true, returnedIn(ev.Names)
}

func (v *view) onMeasured(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done:
		v.refused(ev.Path, ev.Err)
	case !ev.Exists:
		v.prepare()
	default:
		cursor, ok := layout.ParseCursor(ev.Data)
		if !ok {
			v.refused(ev.Path, errForeign)
			return
		}
		v.cursor, v.version = cursor, ev.Stat.Version
	}
}

func isItems(name string) bool {
	_, ok := layout.ParseZnode(name)
	return ok
}

func isDelayed(name string) bool {
	_, ok := layout.ParseDelayed(name)
	return ok
}

func isReturned(name string) bool {
	_, ok := layout.ParseReturned(name)
	return ok
}

// isBucket tells whether it is one, or what lies beside them.
func isBucket(name string) bool {
	_, ok := place.ParseBucket(name)
	return ok || name == "returned" || name == "alive"
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
	slices.SortFunc(all, func(a, b layout.Returned) int { return cmp.Or(a.Compare(b.Entry), cmp.Compare(a.Name(), b.Name())) })
	return all
}
