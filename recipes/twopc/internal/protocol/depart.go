package protocol

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// departure deletes the znodes of a participant that needs the transaction no more. The last
// participant deletes the whole transaction in the same ZooKeeper transaction. Any other checks, in
// its own, that another one is still there. So nothing is left behind, whichever process dies and
// when. The last site also deletes the payload, which the coordinator does not need.
type departure struct {
	*view
	own       []string                  // what is deleted
	done      func(machine.Code, error) // NoNode: it, or a part of it, has already been deleted
	noPayload bool                      // the payload is gone
	tombstone []byte                    // the data of the tombstone to create, if not nil
}

// leave deletes the participant's znodes while another one is still there, whose znode is at other;
// or the whole transaction, if other is "". last: as far as is known, no other site is there.
func (d *departure) leave(other string, last bool) {
	var ops []machine.Op
	add := func(op machine.Op) (at int) {
		ops = append(ops, op)
		return len(ops) - 1
	}
	remove := func(path string) (at int) {
		return add(machine.Op{Do: machine.Delete, Path: path, Version: machine.Any})
	}
	const none = -2
	check, tombstone, payload := none, none, none
	if other != "" {
		check = add(machine.Op{Do: machine.Check, Path: other, Version: machine.Any})
	}
	for _, path := range d.own {
		remove(path)
	}
	if d.tombstone != nil {
		tombstone = add(machine.Op{Do: machine.Create, Path: d.root.Tombstone(d.id, d.rec.GUID), Data: d.tombstone})
	}
	if last && !d.noPayload {
		payload = remove(d.root.Payload(d.id, d.rec.GUID))
	}
	if other == "" {
		remove(d.root.Tx(d.id))
	}
	again := func() { d.leave(other, last) }
	d.requests.transact(func(ev machine.Transacted) {
		gone := ev.Code == machine.NoNode
		switch {
		case ev.Code == machine.Unknown:
			again()
		case gone && ev.Failed == check, other == "" && ev.Code == machine.NotEmpty: // no participant can have come: another client's znode
			d.look()
		case gone && ev.Failed == payload: // another client deleted it alone
			d.noPayload = true
			again()
		case ev.Code == machine.NodeExists && ev.Failed == tombstone: // it exists, with the same outcome
			d.tombstone = nil
			again()
		case gone && ev.Failed == tombstone:
			d.requests.ensure(func(err error) {
				if err != nil {
					d.done(machine.Refused, err)
					return
				}
				again()
			}, d.root.Tombstones())
		default:
			d.done(ev.Code, ev.Err)
		}
	}, ops...)
}

// look finds out which other participants are still there.
func (d *departure) look() {
	d.requests.list(d.root.Tx(d.id), func(ev machine.Listed) {
		if ev.Code != machine.Done {
			d.done(ev.Code, ev.Err)
			return
		}
		d.noPayload = true
		other := ""
		others := 0
		for _, name := range slices.Sorted(slices.Values(ev.Names)) {
			switch path := d.root.Tx(d.id) + "/" + name; {
			case path == d.root.Payload(d.id, d.rec.GUID):
				d.noPayload = false
			case !slices.Contains(d.own, path):
				if others++; others == 1 {
					other = path
				}
			}
		}
		d.leave(other, others == 0 || others == 1 && other == d.mark())
	})
}
