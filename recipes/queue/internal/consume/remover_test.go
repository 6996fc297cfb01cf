package consume_test

import (
	"path"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// remover removes an item of a pack: it reads the pack, and writes it again without the item.
type remover struct {
	world    *world
	requests machine.Requests[string] // by path
	index    map[string]int
	removed  map[string]*item
}

// remove is the wish that an item be removed.
type remove struct {
	path  string
	index int
}

func (w *world) addRemover() {
	r := &remover{world: w, index: make(map[string]int), removed: make(map[string]*item)}
	w.remover = w.Add(recipetest.Player{Name: "remover", Machine: func() machine.Machine { return r }})
}

func (r *remover) Step(ev machine.Event) []machine.Effect {
	at, ok := r.requests.Accept(ev)
	if !ok {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		r.requests.Begin(ev.Epoch)
	case remove:
		if r.requests.Pending(ev.path) {
			break
		}
		r.index[ev.path] = ev.index
		r.requests.Ask(machine.Read{Path: ev.path}, ev.path)
	case machine.Seen:
		z, _ := layout.ParseZnode(path.Base(at))
		records, ok := layout.Unpack(ev.Data, z.Count)
		if !ev.Exists || !ok || r.index[at] >= len(records) || records[r.index[at]].Removed {
			break
		}
		r.removed[at] = r.world.items[string(records[r.index[at]].Body)]
		records[r.index[at]] = layout.Record{Removed: true}
		r.requests.Ask(machine.Transact{Ops: []machine.Op{
			{Do: machine.Set, Path: at, Data: layout.Pack(records), Version: ev.Stat.Version},
		}}, at)
	case machine.Transacted:
		switch i := r.removed[at]; ev.Code {
		case machine.Done:
			i.removed, i.cut = true, true
		case machine.Unknown:
			i.removed = true // perhaps
		}
	}
	return r.requests.Flush()
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
