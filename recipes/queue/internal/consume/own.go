package consume

import (
	"fmt"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// own is what a consumer is known by in an epoch: its journal, and beside it the ephemeral znode
// that says that it lives.
type own struct {
	*wire
	guid    string
	unheld  bool // there are no possessions to be guarded
	epochs  int
	tag     string
	made    bool  // both stand
	guarded bool  // the ephemeral znode is watched
	heard   int32 // the version of the ephemeral znode: others write it to ask for what is not needed
	asked   bool  // somebody has
	version int32
	number  uint64 // of the transaction that wrote the journal last
}

// renew takes a tag that nobody had.
func (o *own) renew() {
	epochs := o.epochs + 1
	*o = own{wire: o.wire, guid: o.guid, unheld: o.unheld, epochs: epochs, tag: fmt.Sprintf("%s-%d", o.guid, epochs)}
	o.Forget(key{purpose: guarding})
}

func (o *own) journal() string { return o.root.Journal(o.tag) }
func (o *own) alive() string   { return o.root.Alive(o.tag) }

// sign makes the journal and the ephemeral znode.
func (o *own) sign() {
	if o.isPreparing() || o.busy(signing) || o.busy(checking) {
		return
	}
	o.Ask(machine.Transact{Ops: []machine.Op{
		{Do: machine.Create, Path: o.alive(), Ephemeral: true},
		{Do: machine.Create, Path: o.journal(), Data: layout.Journal{}.Bytes()},
	}}, key{purpose: signing})
}

func (o *own) onSigned(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		o.signed(0)
	case machine.NoNode:
		o.prepare()
	case machine.NodeExists, machine.Unknown:
		o.Ask(machine.Read{Path: o.journal()}, key{purpose: checking})
	default:
		o.refused(o.journal(), ev.Err)
	}
}

// onChecked tells whether the tag is of no use: its journal was not made, or somebody has deleted
// it by hand.
func (o *own) onChecked(ev machine.Seen) (useless bool) {
	switch {
	case ev.Code != machine.Done:
		o.refused(ev.Path, ev.Err)
	case ev.Exists:
		o.signed(ev.Stat.Version)
	default:
		o.remove(o.alive())
		return true
	}
	return false
}

func (o *own) signed(version int32) {
	o.made, o.version, o.tries = true, version, 0
}

// guard watches the ephemeral znode. Possessions are guarded by it: whoever deletes it ends them.
// At most once there are none, and what is being taken would be lost with it.
func (o *own) guard() {
	if !o.guarded {
		o.once(machine.Read{Path: o.alive(), Watch: true}, key{purpose: guarding})
	}
}

// onGuarded tells whether the ephemeral znode is gone.
func (o *own) onGuarded(ev machine.Seen) (gone bool) {
	if ev.Code != machine.Done {
		o.refused(ev.Path, ev.Err)
		return false
	}
	o.guarded = ev.Exists || o.unheld
	if ev.Exists && ev.Stat.Version != o.heard {
		o.heard, o.asked = ev.Stat.Version, true
	}
	return !o.guarded
}

// written takes in that a transaction has written the journal.
func (o *own) written(s machine.Stat) {
	o.number++
	o.version = s.Version
}
