package consume_test

import (
	"path"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// remover removes an item of a pack: it reads the pack, finds out what names it, and writes it
// again without the item as long as that stands. One after the other.
type remover struct {
	world    *world
	requests machine.Requests[string]
	wish     *remove // under way
	bucket   place.Bucket
	znode    layout.Znode
	records  []layout.Record
	version  int32 // of the pack
	item     *item
}

// remove is the wish that an item be removed.
type remove struct {
	path  string
	index int
}

func (w *world) addRemover() {
	r := &remover{world: w}
	w.remover = w.Add(recipetest.Player{Name: "remover", Machine: func() machine.Machine { return r }})
}

func (r *remover) Step(ev machine.Event) []machine.Effect {
	if _, ok := r.requests.Accept(ev); !ok {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		r.requests.Begin(ev.Epoch)
		r.wish = nil
	case remove:
		if r.wish != nil {
			break
		}
		r.wish = &ev
		r.bucket, _ = place.ParseBucket(path.Base(path.Dir(ev.path)))
		r.znode, _ = layout.ParseZnode(path.Base(ev.path))
		r.requests.Ask(machine.Read{Path: ev.path}, "pack")
	case machine.Seen:
		if !r.onSeen(ev) {
			r.wish = nil
		}
	case machine.Transacted:
		switch r.wish = nil; ev.Code {
		case machine.Done:
			r.item.removed, r.item.cut = true, true
		case machine.Unknown:
			r.item.removed = true // perhaps
		}
	}
	return r.requests.Flush()
}

// onSeen asks for the next step; false if there is none.
func (r *remover) onSeen(ev machine.Seen) bool {
	root := layout.Root(root)
	if ev.Path == r.wish.path {
		records, ok := layout.Unpack(ev.Data, r.znode.Count)
		if !ev.Exists || !ok || r.wish.index >= len(records) || records[r.wish.index].Removed {
			return false
		}
		r.records, r.version = records, ev.Stat.Version
		r.requests.Ask(machine.Read{Path: root.Cursor()}, "cursor")
		return true
	}
	cursor, _ := layout.ParseCursor(ev.Data)
	guard, ok := r.guard(cursor, ev.Stat.Version)
	if !ok {
		return false
	}
	r.item = r.world.items[string(r.records[r.wish.index].Body)]
	r.records[r.wish.index] = layout.Record{Removed: true}
	r.requests.Ask(machine.Transact{Ops: []machine.Op{
		guard, {Do: machine.Set, Path: r.wish.path, Data: layout.Pack(r.records), Version: r.version},
	}}, "removal")
	return true
}

// guard is the check of what names the pack; false if the item is not in it any more.
func (r *remover) guard(cursor layout.Cursor, version int32) (machine.Op, bool) {
	root, bit := layout.Root(root), uint64(1)<<r.wish.index
	at := layout.Whole(r.bucket, r.znode).Position
	for _, tag := range r.world.Children(root.Journals()) {
		j, _ := layout.ParseJournal(r.world.Data(root.Journal(tag)))
		for _, c := range j.Claims {
			if c.Position == at { // each transaction of the journal has a number: so has its version
				return machine.Op{Do: machine.Check, Path: root.Journal(tag), Version: int32(j.Number)}, c.Left()&bit != 0
			}
		}
	}
	for _, name := range r.world.Children(root.Returned()) {
		if e, _ := layout.ParseReturned(name); e.Position == at {
			return machine.Op{Do: machine.Check, Path: root.Returned() + "/" + name, Version: machine.Any}, e.Left()&bit != 0
		}
	}
	mark := cursor.Of(r.bucket.Lane)
	behind := r.bucket.Number > mark.Number || r.bucket.Number == mark.Number && r.znode.Seq > mark.Seq
	return machine.Op{Do: machine.Check, Path: root.Cursor(), Version: version}, behind && r.znode.Part() == 0
}

// removeOne has an item removed.
func (w *world) removeOne(choose func(n int) int) {
	root := layout.Root(root)
	for _, child := range w.Children(root.Work()) {
		b, ok := place.ParseBucket(child)
		if !ok || b.Lane.Later {
			continue
		}
		for _, child := range w.Children(root.Bucket(b)) {
			if z, _ := layout.ParseZnode(child); z.Count > 1 && choose(4) == 0 {
				w.remover.Tell(remove{root.Bucket(b) + "/" + child, choose(z.Count)})
				return
			}
		}
	}
}
