package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// audit finds what nobody names. It is exact: the cursor has one version and what came back one
// cversion from its beginning to its end, so that entries leave journals only with their items. One
// request follows the other.
type audit struct {
	root     layout.Root
	at       stage
	cursor   layout.Cursor
	version  int32 // of the cursor
	cversion int32 // of what came back
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
			a.version = ev.Stat.Version
			return a.list(whatCameBack, a.root.Returned()), ok && ev.Exists
		}
		ok = a.reads(ev)
	case machine.Listed:
		if ev.Code != machine.Done && (a.at != aBucket || ev.Code != machine.NoNode) {
			return nil, false
		}
		switch a.at {
		case whatCameBack:
			a.cversion = ev.Stat.Cversion
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

// reads takes a journal in.
func (a *audit) reads(ev machine.Seen) bool {
	if !ev.Exists {
		return true
	}
	j, ok := layout.ParseJournal(ev.Data)
	for _, c := range j.Claims {
		a.named[c.Position] = true
	}
	return ok
}

// finds takes in what lies in a bucket.
func (a *audit) finds(names []string) {
	mark := a.cursor.Of(a.bucket.Lane)
	for _, name := range names {
		z, ok := layout.ParseZnode(name)
		if !ok || a.bucket.Number > mark.Number || a.bucket.Number == mark.Number && z.Seq > mark.Seq && z.Part() == 0 {
			continue
		}
		if e := layout.Whole(a.bucket, z); !a.named[e.Position] && len(a.lost) < most {
			a.lost = append(a.lost, layout.Returned{Entry: e})
		}
	}
}

// recovery returns what nobody names, as long as the cursor stands.
func (a *audit) recovery() []machine.Op {
	ops := []machine.Op{{Do: machine.Set, Path: a.root.Cursor(), Data: a.cursor.Bytes(), Version: a.version}}
	for _, r := range a.lost {
		ops = append(ops, machine.Op{Do: machine.Create, Path: a.root.Back(r)})
	}
	return ops
}
