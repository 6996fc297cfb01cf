package take_test

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// remover removes items by their ids, from packs as well, whoever has them.
type remover struct {
	world *world
	actor *recipetest.Actor
	epoch uint64
	asks  uint64
}

// erase is the wish that these operations be carried out. It is an event.
type erase struct{ ops []machine.Op }

func (w *world) addRemover() {
	w.remover = &remover{world: w}
	w.remover.actor = w.Add(recipetest.Player{
		Name:     "r",
		Machine:  func() machine.Machine { return w.remover },
		Standing: func() []machine.Event { return nil },
		Perform:  func(*recipetest.Actor, machine.Effect) {},
	})
}

// Step implements [machine.Machine].
func (r *remover) Step(ev machine.Event) []machine.Effect {
	switch ev := ev.(type) {
	case machine.EpochBegan:
		r.epoch = ev.Epoch
	case machine.EpochEnded:
		r.epoch = 0
	case erase:
		if r.epoch > 0 {
			r.asks++
			return []machine.Effect{machine.Transact{Epoch: r.epoch, Ask: r.asks, Ops: ev.ops}}
		}
	}
	return nil
}

// Phase is what the live tree shows.
func (r *remover) Phase() string { return "" }

// remove removes an item that is in a bucket now, unless it is somewhere else by then.
func (r *remover) remove(choose func(n int) int) {
	var all [][]machine.Op
	var items []*item
	for _, name := range r.world.Children(root) {
		b, ok := place.ParseBucket(name)
		if !ok {
			continue
		}
		bucket := znode.Join(root, name)
		for _, child := range r.world.Children(bucket) {
			at := znode.Join(bucket, child)
			out := machine.Op{Do: machine.Delete, Path: at, Version: machine.Any}
			if _, ok := place.ParseItem(child, b.Lane); ok {
				all, items = append(all, []machine.Op{out}), append(items, r.world.items[string(r.world.Data(at))])
			}
			p, ok := place.ParsePack(child, b.Lane)
			if !ok {
				continue
			}
			data, _ := place.Unwrap(r.world.Data(at))
			for part := p.First; part <= p.Last; part++ {
				ops := []machine.Op{out}
				for _, rest := range []place.Pack{p.Part(p.First, part-1), p.Part(part+1, p.Last)} {
					if rest.Len() > 0 {
						body := place.Wrap(data[rest.First-p.First : rest.Last-p.First+1])
						ops = append(ops, machine.Op{Do: machine.Create, Path: znode.Join(bucket, rest.Name()), Data: body})
					}
				}
				all, items = append(all, ops), append(items, r.world.items[string(data[part-p.First])])
			}
		}
	}
	if len(all) == 0 {
		return
	}
	n := choose(len(all))
	items[n].maybe = true
	r.actor.Tell(erase{all[n]})
}
