package host_test

import (
	"fmt"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// A recipe small enough to see through: plant a flag, that is an ephemeral znode under the recipe's path, and have a possession for it while it stands.
type (
	plant   struct{ name string } // wish
	overdue struct{ name string } // wish: the possession ended
	planted struct {              // effect
		epoch uint64
		name  string
		path  string
		token int64
	}
)

// flags is its machine.
type flags struct {
	root    string
	epoch   uint64
	wanted  map[string]bool // true: it stands
	order   []string
	asks    map[uint64]string
	lastAsk uint64
	closing bool
}

func newFlags(root string) func() recipe.Machine {
	return func() recipe.Machine { return &flags{root: root, wanted: map[string]bool{}, asks: map[uint64]string{}} }
}

func (f *flags) Phase() string { return fmt.Sprintf("%d flags", len(f.order)) }

func (f *flags) Step(ev recipe.Event) []recipe.Effect {
	switch ev := ev.(type) {
	case plant:
		if _, repeat := f.wanted[ev.name]; repeat {
			return nil
		}
		f.wanted[ev.name] = false
		f.order = append(f.order, ev.name)
		return f.try(ev.name)
	case recipe.EpochBegan:
		f.epoch = ev.Epoch
		return []recipe.Effect{recipe.Ensure{Epoch: f.epoch, Path: f.root, Container: true}}
	case recipe.EpochEnded:
		f.epoch, f.asks = 0, map[uint64]string{}
		for name := range f.wanted {
			f.wanted[name] = false
		}
		return f.stop()
	case recipe.Ensured:
		var all []recipe.Effect
		for _, name := range f.order {
			all = append(all, f.try(name)...)
		}
		return all
	case recipe.Transacted:
		return f.onTransacted(ev)
	case recipe.Seen:
		name := f.asks[ev.Ask]
		if !ev.Exists {
			return f.try(name)
		}
		f.wanted[name] = true
		return []recipe.Effect{planted{ev.Epoch, name, ev.Path, ev.Stat.Czxid}}
	case recipe.Fired, overdue:
		return []recipe.Effect{ev} // told to the test
	case recipe.Closing:
		f.closing = true
		return f.stop()
	case recipe.Removed:
		if f.order = f.order[1:]; len(f.order) == 0 {
			return []recipe.Effect{recipe.Stop{}}
		}
	}
	return nil
}

func (f *flags) ask(name string) uint64 {
	f.lastAsk++
	f.asks[f.lastAsk] = name
	return f.lastAsk
}

func (f *flags) try(name string) []recipe.Effect {
	if f.epoch == 0 || f.wanted[name] {
		return nil
	}
	create := recipe.Op{Do: recipe.Create, Path: f.root + "/" + name, Data: []byte(name), Ephemeral: true}
	return []recipe.Effect{recipe.Transact{Epoch: f.epoch, Ask: f.ask(name), Ops: []recipe.Op{create}}}
}

func (f *flags) onTransacted(ev recipe.Transacted) []recipe.Effect {
	name, known := f.asks[ev.Ask]
	if !known || ev.Epoch != f.epoch {
		return nil
	}
	switch ev.Code {
	case recipe.NoNode:
		return nil // Ensured comes, and tries again
	case recipe.Done, recipe.Unknown, recipe.NodeExists:
		return []recipe.Effect{recipe.Read{Epoch: f.epoch, Ask: f.ask(name), Path: f.root + "/" + name, Watch: true}}
	}
	return []recipe.Effect{recipe.Stop{Err: ev.Err}}
}

// stop winds up: without an epoch there is nothing to delete.
func (f *flags) stop() []recipe.Effect {
	if !f.closing {
		return nil
	}
	var all []recipe.Effect
	for _, name := range f.order {
		if f.epoch != 0 {
			all = append(all, recipe.Remove{Epoch: f.epoch, Path: f.root + "/" + name})
		}
	}
	if len(all) == 0 {
		return []recipe.Effect{recipe.Stop{}}
	}
	return all
}

// flag is what the application gets.
type flag struct {
	*session.Hold
	name string
}
