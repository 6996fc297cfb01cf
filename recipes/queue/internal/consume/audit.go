package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// audit finds what nobody names. It is exact: what came back has one cversion from its beginning to
// its end, so that entries leave journals only with their items; and nobody but another audit gives
// a name to what has none, which the version of what came back excludes. One request follows the
// other.
type audit struct {
	root     layout.Root
	at       stage
	cursor   layout.Cursor
	version  int32 // of the parent of what came back
	cversion int32
	named    map[layout.Position]bool
	tags     []string       // of journals that are not read
	buckets  []place.Bucket // that are not listed
	bucket   place.Bucket   // that is being listed
	lost     []layout.Returned
}

// stage is what an audit waits for.
type stage int

const (
	theCursor stage = iota
	whatCameBack
	theJournals
	aJournal
	aBucket
	theEnd // what came back, for the second time
)

func newAudit(root layout.Root) *audit {
	return &audit{root: root, named: make(map[layout.Position]bool)}
}

func (a *audit) begin() machine.Request { return machine.Read{Path: a.root.Cursor()} }

// step takes in an answer, and returns the next request; nil at the end. It is false if something
// has moved, or could not be read: then it begins anew in a later sweep. full are the buckets that
// were not empty.
func (a *audit) step(ev machine.Event, full []place.Bucket) (next machine.Request, ok bool) {
	switch ev := ev.(type) {
	case machine.Seen:
		if ev.Code != machine.Done {
			return nil, false
		}
		if a.at == theCursor {
			a.cursor, ok = layout.ParseCursor(ev.Data)
			return a.list(whatCameBack, a.root.Returned()), ok && ev.Exists
		}
		a.reads(ev)
		ok = true
	case machine.Listed:
		if ev.Code != machine.Done && (a.at != aBucket || ev.Code != machine.NoNode) {
			return nil, false
		}
		switch a.at {
		case whatCameBack:
			a.version, a.cversion = ev.Stat.Version, ev.Stat.Cversion
			for _, r := range returnedIn(ev.Names) {
				a.named[r.Position] = true
			}
			return a.list(theJournals, a.root.Journals()), true
		case theJournals:
			a.tags, a.buckets = ev.Names, full
		case theEnd:
			return nil, ev.Stat.Cversion == a.cversion
		default:
			a.finds(ev.Names)
		}
		ok = true
	}
	return a.next(), ok
}

func (a *audit) list(at stage, path string) machine.Request {
	a.at = at
	return machine.List{Path: path}
}

// next reads the next journal, or lists the next bucket, or what came back.
func (a *audit) next() machine.Request {
	switch {
	case len(a.tags) > 0:
		tag := a.tags[0]
		a.at, a.tags = aJournal, a.tags[1:]
		return machine.Read{Path: a.root.Journal(tag)}
	case len(a.buckets) > 0:
		a.bucket, a.buckets = a.buckets[0], a.buckets[1:]
		return a.list(aBucket, a.root.Bucket(a.bucket))
	}
	return a.list(theEnd, a.root.Returned())
}

// reads takes a journal in. What is none names nothing.
func (a *audit) reads(ev machine.Seen) {
	j, _ := layout.ParseJournal(ev.Data)
	for _, c := range j.Claims {
		a.named[c.Position] = true
	}
}

// finds takes in what lies in a bucket. Items that have a znode of their own are not in the other
// any more.
func (a *audit) finds(names []string) {
	mark := a.cursor.Of(a.bucket.Lane)
	alone := make(map[int32]uint64)
	var all []layout.Znode
	for _, name := range names {
		z, ok := layout.ParseZnode(name)
		switch {
		case !ok:
		case z.Part() > 0:
			alone[z.Seq] |= 1 << (z.Part() - 1)
			all = append(all, z)
		case a.bucket.Number < mark.Number, a.bucket.Number == mark.Number && z.Seq <= mark.Seq:
			all = append(all, z)
		}
	}
	for _, z := range all {
		e := layout.Whole(a.bucket, z)
		if z.Part() == 0 {
			e = e.Without(alone[z.Seq])
		}
		if !a.named[e.Position] && e.Len() > 0 && len(a.lost) < most {
			a.lost = append(a.lost, layout.Returned{Entry: e})
		}
	}
}

// recovery returns what nobody names, unless another audit has.
func (a *audit) recovery() []machine.Op {
	ops := []machine.Op{{Do: machine.Set, Path: a.root.Returned(), Version: a.version}}
	for _, r := range a.lost {
		ops = append(ops, machine.Op{Do: machine.Create, Path: a.root.Back(r)})
	}
	return ops
}
