package pact

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// departure deletes the znodes of a participant that needs the transaction no more. The last
// participant deletes the whole transaction in the same ZooKeeper transaction. Any other checks, in
// its own, that another one is still there. So nothing is left behind, whichever process dies and
// when. The last site also deletes the payload, which the coordinator does not need.
type departure struct {
	desk      *desk
	root      Root
	id, guid  string
	own       []string                  // what is deleted
	guess     string                    // the znode of another participant that may still be there
	done      func(machine.Code, error) // NoNode: it, or a part of it, has already been deleted
	bare      bool                      // the payload is gone
	tombstone []byte                    // the data of the tombstone to create, if not nil
}

func (d *departure) begin() {
	if d.guess != "" {
		d.behind(d.guess, d.guess == d.root.Open(d.id, d.guid))
		return
	}
	d.last()
}

// operations returns the operations that delete the participant's znodes and create the tombstone.
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

// behind leaves while another participant is still there. final: as far as is known, that is only
// the coordinator.
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

// conclude reports the result, unless the tombstone, which is operation number at, could not be
// created.
func (d *departure) conclude(ev machine.Transacted, at int, again func()) {
	switch {
	case d.tombstone == nil || ev.Failed != at:
		d.done(ev.Code, ev.Err)
	case ev.Code == machine.NodeExists: // it exists, with the same outcome
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

// look finds out which other participants are still there.
func (d *departure) look() {
	d.desk.names(d.root.Tx(d.id), func(ev machine.Listed) {
		if ev.Code != machine.Done {
			d.done(ev.Code, ev.Err)
			return
		}
		d.bare = true
		var others []string
		for _, name := range slices.Sorted(slices.Values(ev.Names)) {
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

// last deletes the whole transaction.
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
		case ev.Code == machine.NotEmpty: // there is another znode after all: no participant can have come, so it is a foreign one
			d.look()
		case ev.Code == machine.NoNode && ev.Failed == unload: // somebody deleted it alone
			d.bare = true
			d.last()
		default:
			d.conclude(ev, len(d.own), d.last)
		}
	}, ops...)
}
