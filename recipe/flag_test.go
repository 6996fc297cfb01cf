package recipe_test

import (
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// A recipe small enough to see through: plant a flag, that is an ephemeral znode under the recipe's
// path, and have a possession for it while it stands.
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

// flags is its machine. Each flag has at most one request under way.
type flags struct {
	root    string
	epoch   uint64
	all     []*pole
	lastAsk uint64
	closing bool
}

type pole struct {
	name   string
	ask    uint64 // of the request under way, 0 for none
	stands bool
}

func newFlags(root string) func() machine.Machine {
	return func() machine.Machine { return &flags{root: root} }
}

func (f *flags) Phase() string { return fmt.Sprintf("%d flags", len(f.all)) }

func (f *flags) Step(ev machine.Event) []machine.Effect {
	var told []machine.Effect
	switch ev := ev.(type) {
	case plant:
		if !slices.ContainsFunc(f.all, func(p *pole) bool { return p.name == ev.name }) {
			f.all = append(f.all, &pole{name: ev.name})
		}
	case machine.EpochBegan:
		f.epoch = ev.Epoch
	case machine.EpochEnded:
		f.epoch = 0
		for _, p := range f.all {
			p.ask, p.stands = 0, false
		}
	case machine.Ensured:
		f.answered(ev.Ask)
	case machine.Transacted:
		p := f.answered(ev.Ask)
		switch {
		case p == nil || ev.Epoch != f.epoch:
		case ev.Code == machine.NoNode:
			return []machine.Effect{machine.Ensure{Epoch: f.epoch, Ask: f.asked(p), Path: f.root, Container: true}}
		case ev.Code == machine.Refused:
			return []machine.Effect{machine.Stop{Err: ev.Err}}
		default:
			return []machine.Effect{machine.Read{Epoch: f.epoch, Ask: f.asked(p), Path: f.root + "/" + p.name, Watch: true}}
		}
	case machine.Seen:
		if p := f.answered(ev.Ask); p != nil && ev.Exists && ev.Epoch == f.epoch {
			p.stands = true
			told = append(told, planted{ev.Epoch, p.name, ev.Path, ev.Stat.Czxid})
		}
	case machine.Removed:
		if p := f.answered(ev.Ask); p != nil {
			f.all = slices.DeleteFunc(f.all, func(o *pole) bool { return o == p })
		}
	case machine.Fired:
		told = append(told, ev) // to the test
	case machine.Closing:
		f.closing = true
	}
	return append(told, f.steer()...)
}

func (f *flags) asked(p *pole) uint64 {
	f.lastAsk++
	p.ask = f.lastAsk
	return p.ask
}

func (f *flags) answered(ask uint64) *pole {
	for _, p := range f.all {
		if p.ask == ask {
			p.ask = 0
			return p
		}
	}
	return nil
}

// steer asks for what is missing: flags that are to stand, or to go.
func (f *flags) steer() []machine.Effect {
	if f.closing && (f.epoch == 0 || len(f.all) == 0) {
		return []machine.Effect{machine.Stop{}}
	}
	var all []machine.Effect
	for _, p := range f.all {
		path := f.root + "/" + p.name
		switch {
		case f.epoch == 0 || p.ask != 0:
		case f.closing:
			all = append(all, machine.Remove{Epoch: f.epoch, Ask: f.asked(p), Path: path})
		case !p.stands:
			create := machine.Op{Do: machine.Create, Path: path, Data: []byte(p.name), Ephemeral: true}
			all = append(all, machine.Transact{Epoch: f.epoch, Ask: f.asked(p), Ops: []machine.Op{create}})
		}
	}
	return all
}

// flag is what the application gets.
type flag struct {
	*session.Hold
	name string
}
