package pact

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// departure takes away the znodes of one who is through with a transaction. Whoever is the last
// takes away the whole, in the same transaction; and whoever is not makes sure of that, by checking
// in his that somebody else is still there. So nothing is ever left behind, whoever dies when. The
// last of the sites takes the payload away, which nobody needs any more when only the coordinator's
// mark is left.
type departure struct {
	desk      *desk
	root      Root
	id, guid  string
	own       []string                  // what is taken away
	guess     string                    // the znode of somebody who may still be there
	done      func(machine.Code, error) // NoNode: it is away already, or a part of it is
	bare      bool                      // the payload is gone
	tombstone []byte                    // what is to stand in the transaction's, if not nil
}

func (d *departure) begin() {
	if d.guess != "" {
		d.behind(d.guess, d.guess == d.root.Open(d.id, d.guid))
		return
	}
	d.last()
}

// operations delete what is one's own, and make the tombstone.
func (d *departure) operations() []machine.Op {
	var ops []machine.Op
	for _, path := range d.own {
		ops = append(ops, machine.Op{Do: machine.Delete, Path: path, Version: machine.Any})
	}
	if d.tombstone != nil {
		ops = append(ops, machine.Op{Do: machine.Create, Path: d.root.Tombstone(d.id, d.guid), Data: d.tombstone})
	}
	return ops
}

func (d *departure) unload() machine.Op {
	return machine.Op{Do: machine.Delete, Path: d.root.Payload(d.id, d.guid), Version: machine.Any}
}

// behind leaves somebody else behind; final: it is the coordinator alone, as far as is known.
func (d *departure) behind(other string, final bool) {
	ops := append([]machine.Op{{Do: machine.Check, Path: other, Version: machine.Any}}, d.operations()...)
	unload := -1
	if final && !d.bare {
		unload = len(ops)
		ops = append(ops, d.unload())
	}
	again := func() { d.behind(other, final) }
	d.desk.transact(func(ev machine.Transacted) {
		switch {
		case ev.Code == machine.Unknown:
			again()
		case ev.Code == machine.NoNode && ev.Failed == 0:
			d.look()
		case ev.Code == machine.NoNode && ev.Failed == unload: // somebody deleted it alone
			d.bare = true
			again()
		default:
			d.conclude(ev, 1+len(d.own), again)
		}
	}, ops...)
}

// conclude reports, unless it is the tombstone that could not be made; that operation is the at-th.
func (d *departure) conclude(ev machine.Transacted, at int, again func()) {
	switch {
	case d.tombstone == nil || ev.Failed != at:
		d.done(ev.Code, ev.Err)
	case ev.Code == machine.NodeExists: // it is there: nobody writes another outcome
		d.tombstone = nil
		again()
	case ev.Code == machine.NoNode:
		d.desk.ensure(func(err error) {
			if err != nil {
				d.done(machine.Refused, err)
				return
			}
			again()
		}, d.root.Tombstones())
	default:
		d.done(ev.Code, ev.Err)
	}
}

// look finds out who else is still there.
func (d *departure) look() {
	d.desk.names(d.root.Tx(d.id), func(ev machine.Listed) {
		if ev.Code != machine.Done {
			d.done(ev.Code, ev.Err)
			return
		}
		slices.Sort(ev.Names)
		d.bare = true
		var others []string
		for _, name := range ev.Names {
			switch path := d.root.Tx(d.id) + "/" + name; {
			case path == d.root.Payload(d.id, d.guid):
				d.bare = false
			case !slices.Contains(d.own, path):
				others = append(others, path)
			}
		}
		if len(others) == 0 {
			d.last()
			return
		}
		d.behind(others[0], len(others) == 1 && others[0] == d.root.Open(d.id, d.guid))
	})
}

// last takes everything away.
func (d *departure) last() {
	ops := d.operations()
	unload := -1
	if !d.bare {
		unload = len(ops)
		ops = append(ops, d.unload())
	}
	ops = append(ops, machine.Op{Do: machine.Delete, Path: d.root.Tx(d.id), Version: machine.Any})
	d.desk.transact(func(ev machine.Transacted) {
		switch {
		case ev.Code == machine.Unknown:
			d.last()
		case ev.Code == machine.NotEmpty: // somebody is there after all: nobody can have come, but a foreign znode
			d.look()
		case ev.Code == machine.NoNode && ev.Failed == unload: // somebody deleted it alone
			d.bare = true
			d.last()
		default:
			d.conclude(ev, len(d.own), d.last)
		}
	}, ops...)
}
