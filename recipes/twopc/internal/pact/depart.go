package pact

import (
	"slices"

	"github.com/troupe-go/troupe/recipe"
)

// departure takes away the znodes of one who is through with a transaction. Whoever is the last takes away the whole, in the same transaction; and whoever is
// not makes sure of that, by checking in his that somebody else is still there. So nothing is ever left behind, whoever dies when.
type departure struct {
	desk     *desk
	root     Root
	id, guid string
	own      []string                 // what is taken away
	guess    string                   // the znode of somebody who may still be there
	done     func(recipe.Code, error) // NoNode: it is away already, or a part of it is
	bare     bool                     // the payload is gone
}

func (d *departure) begin() {
	if d.guess != "" {
		d.behind(d.guess)
		return
	}
	d.last()
}

func (d *departure) deletions() []recipe.Op {
	var ops []recipe.Op
	for _, path := range d.own {
		ops = append(ops, recipe.Op{Do: recipe.Delete, Path: path, Version: recipe.Any})
	}
	return ops
}

// behind leaves somebody else behind.
func (d *departure) behind(other string) {
	ops := append([]recipe.Op{{Do: recipe.Check, Path: other, Version: recipe.Any}}, d.deletions()...)
	d.desk.transact(func(ev recipe.Transacted) {
		switch {
		case ev.Code == recipe.Unknown:
			d.behind(other)
		case ev.Code == recipe.NoNode && ev.Failed == 0:
			d.look()
		default:
			d.done(ev.Code, ev.Err)
		}
	}, ops...)
}

// look finds out who else is still there.
func (d *departure) look() {
	d.desk.names(d.root.Tx(d.id), func(ev recipe.Listed) {
		if ev.Code != recipe.Done {
			d.done(ev.Code, ev.Err)
			return
		}
		slices.Sort(ev.Names)
		for _, name := range ev.Names {
			path := d.root.Tx(d.id) + "/" + name
			if path != d.root.Payload(d.id, d.guid) && !slices.Contains(d.own, path) {
				d.behind(path)
				return
			}
		}
		d.last()
	})
}

// last takes everything away.
func (d *departure) last() {
	ops := d.deletions()
	if !d.bare {
		ops = append(ops, recipe.Op{Do: recipe.Delete, Path: d.root.Payload(d.id, d.guid), Version: recipe.Any})
	}
	ops = append(ops, recipe.Op{Do: recipe.Delete, Path: d.root.Tx(d.id), Version: recipe.Any})
	d.desk.transact(func(ev recipe.Transacted) {
		switch {
		case ev.Code == recipe.Unknown:
			d.last()
		case ev.Code == recipe.NotEmpty: // somebody is there after all: nobody can have come, but a foreign znode
			d.look()
		case ev.Code == recipe.NoNode && ev.Failed == len(d.own) && !d.bare: // somebody deleted the payload alone
			d.bare = true
			d.last()
		default:
			d.done(ev.Code, ev.Err)
		}
	}, ops...)
}
