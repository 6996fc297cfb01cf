package protocol

import (
	"fmt"

	"github.com/troupe-go/troupe/machine"
)

// begin writes the transaction in one ZooKeeper transaction: the record, the payload, the
// coordinator's mark, and for each site its vote, the entry in its inbox, and a write to the inbox,
// which fires the site's watch.
func (t *tx) begin() {
	if !t.admitted && !t.admit() {
		return
	}
	if t.floor == 0 {
		t.floor = max(t.requests.zxid, 1)
		t.requests.Emit(Sent{N: t.n, Floor: t.floor})
	}
	t.pending, t.sent = reply, true
	root := t.root
	ops := []machine.Op{
		{Do: machine.Check, Path: t.c.presence.path, Version: machine.Any}, // a reader of the record may conclude from a missing presence that this coordinator has died
		{Do: machine.Create, Path: root.Tx(t.id), Data: t.rec.bytes()},
		{Do: machine.Create, Path: root.Payload(t.id, t.rec.GUID), Data: t.payload},
		{Do: machine.Create, Path: root.Mark(t.id, t.rec.GUID)},
	}
	for _, site := range t.rec.Sites {
		ops = append(ops,
			machine.Op{Do: machine.Create, Path: root.Vote(t.id, t.rec.GUID, site)},
			machine.Op{Do: machine.Create, Path: root.Inbox(site) + "/" + entryPrefix(t.rec.GUID, t.id), Sequential: true},
			machine.Op{Do: machine.Set, Path: root.Inbox(site), Version: machine.Any})
	}
	t.requests.transact(t.began, ops...)
}

func (t *tx) began(ev machine.Transacted) {
	t.pending = nothing
	t.sent = ev.Code == machine.Unknown // a refused request was not carried out
	switch {
	case ev.Code == machine.Done:
		t.opened()
	case ev.Code == machine.Refused:
		t.refuse(ev.Err)
	case ev.Code == machine.NoNode && ev.Failed == 0:
		t.c.presence.recheck()
	case ev.Code == machine.NoNode:
		t.ensureParents()
	case ev.Code == machine.NodeExists:
		t.resolve()
	default:
		t.advance()
	}
}

// ensureParents creates the missing znodes around a transaction.
func (t *tx) ensureParents() {
	paths := []string{t.root.Transactions()}
	for _, site := range t.rec.Sites {
		paths = append(paths, t.root.Inbox(site))
	}
	t.pending = reply
	t.requests.ensure(func(err error) {
		t.pending = nothing
		if err != nil {
			t.refuse(err)
			return
		}
		t.advance()
	}, paths...)
}

// resolve reads what exists under the id: because the reply to its begin was lost, or because
// another transaction has it. A transaction that has begun never begins again, even if it is over
// and deleted: nothing of it is deleted before its outcome is acknowledged or written to a
// tombstone, or before [Root.Swept] says that it may have been deleted.
func (t *tx) resolve() {
	t.pending = reply
	t.requests.read(t.root.Tx(t.id), func(ev machine.Seen) {
		t.pending = nothing
		rec, ok := parseRecord(ev.Data)
		switch {
		case ev.Code == machine.Refused && t.sent:
			t.denied(ev.Err)
		case ev.Code == machine.Refused:
			t.refuse(ev.Err)
		case ev.Exists && ok && rec.GUID == t.rec.GUID:
			t.opened()
		case t.sent:
			t.remains()
		case !ev.Exists:
			t.advance()
		case ok && rec.State != Undecided && ev.Stat.Children <= 1: // the coordinator's mark
			t.refuse(ErrFinished)
		default:
			t.refuse(ErrInUse)
		}
	})
}

// gone handles a record that is gone. Either another coordinator took the transaction over and has
// acknowledged it, or another client deleted it.
func (t *tx) gone() {
	t.stop()
	t.remains()
}

// remains looks for the outcome of a transaction whose record is gone, or else for a note that it
// may have been swept.
func (t *tx) remains() {
	t.pending = reply
	t.requests.read(t.root.Tombstone(t.id, t.rec.GUID), func(ev machine.Seen) {
		rec, ok := parseRecord(ev.Data)
		switch {
		case t.missed(ev):
		case ev.Exists && ok:
			if t.phase == Beginning {
				t.requests.Emit(Begun{N: t.n})
			}
			t.conclude(rec)
		default:
			t.requests.read(t.root.Swept(), func(ev machine.Seen) {
				if !t.missed(ev) {
					t.nothingRemains(parseSwept(ev.Data) >= t.floor)
				}
			})
		}
	})
}

// missed reports whether a read of what is left of the transaction is of no use. If it is not known
// whether the transaction has begun, the machine keeps trying.
func (t *tx) missed(ev machine.Seen) bool {
	switch {
	case t.phase == Ended: // the reply to its own decision arrived meanwhile
	case ev.Code != machine.Refused:
		return false
	case t.phase == Beginning:
		t.denied(ev.Err)
	default:
		t.fail(ev.Err)
	}
	return true
}

// nothingRemains handles a transaction that has left no outcome. A begin was not carried out,
// unless the outcome may have been swept.
func (t *tx) nothingRemains(swept bool) {
	switch {
	case t.phase != Beginning:
		t.fail(ErrGone)
	case swept:
		t.refuse(ErrGone)
	case t.cause != nil:
		t.refuse(ErrWithdrew)
	default:
		t.sent = false
		t.begin()
	}
}

// admit reports whether every site has room in its inbox, or finds out. If there is no room, it
// refuses the transaction.
func (t *tx) admit() bool {
	t.admitted = t.c.admission.admit(t.rec.Sites, func(full string) {
		if t.phase == Ended { // withdrawn meanwhile
			return
		}
		t.pending = nothing
		if full != "" {
			t.refuse(fmt.Errorf("%w: %q", ErrBusy, full))
			return
		}
		t.advance()
	})
	if !t.admitted {
		t.pending = reply
	}
	return t.admitted
}
