package protocol

import (
	"fmt"
	"maps"
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// InboxLimit is the number of entries that an inbox may have. With the longest ids, its listing has
// 9 MB. No ZooKeeper transaction can fail by the number of a znode's children, so a coordinator
// goes by the number that its last begin with the site has shown.
const InboxLimit = 8192

// begin writes the transaction in one ZooKeeper transaction: the record, the payload, the mark, and
// for each site its vote, the entry in its inbox, and a write to the inbox, which fires the site's
// watch and shows the number of entries. It checks the coordinator's presence, because a reader of
// the record concludes from a missing presence that the coordinator has died.
func (t *tx) begin() {
	root, sites := t.root, t.rec.Sites
	if i := slices.IndexFunc(sites, func(site string) bool { return t.c.full[site] }); i >= 0 {
		t.readInbox(sites[i])
		return
	}
	ops := []machine.Op{
		{Do: machine.Create, Path: root.Tx(t.id), Data: t.rec.bytes()},
		{Do: machine.Create, Path: root.payload(t.id, t.rec.GUID), Data: t.Payload},
		{Do: machine.Create, Path: root.mark(t.id, t.rec.GUID)},
	}
	touched := map[string]int{} // for each site, the index of the result that shows its inbox
	for _, site := range sites {
		ops = append(ops,
			machine.Op{Do: machine.Create, Path: root.Vote(t.id, t.rec.GUID, site)},
			machine.Op{Do: machine.Create, Path: root.inbox(site) + "/" + entryPrefix(t.rec.GUID, t.id), Sequential: true},
			machine.Op{Do: machine.Set, Path: root.inbox(site), Version: machine.Any})
		touched[site] = passedOps + len(ops) - 1
	}
	t.Presence = t.c.czxid
	t.zk.Emit(Progressed{t.Request})
	t.transact(func(ev machine.Transacted) {
		if ev.Code != machine.Done {
			t.resolve()
			return
		}
		for site, i := range touched {
			if ev.Results[i].Stat.Children >= InboxLimit {
				t.c.full[site] = true
			}
		}
		t.onBegun()
	}, ops...)
}

// readInbox reads an inbox that was full. If it still is, the request ends.
func (t *tx) readInbox(site string) {
	t.read(t.root.inbox(site), func(ev machine.Seen) {
		if ev.Stat.Children >= InboxLimit {
			t.end(fmt.Errorf("%w: %q", ErrBusy, site))
			return
		}
		delete(t.c.full, site)
		t.advance()
	})
}

// resolve reads the record under the id: because the reply to the begin was lost, or because
// another transaction has the id.
func (t *tx) resolve() {
	t.read(t.root.Tx(t.id), func(ev machine.Seen) {
		rec, ok := ParseRecord(ev.Data)
		switch {
		case ok && rec.GUID == t.rec.GUID:
			t.onBegun()
		case t.sent:
			t.disprove()
		case !ev.Exists:
			t.advance()
		case ok && rec.State != Undecided && ev.Stat.Children <= 1: // only the coordinator's mark is left
			t.end(ErrFinished)
		default:
			t.end(ErrDuplicate)
		}
	})
}

// disprove handles a begin without a record. While a coordinator is present, no other participant
// takes over or deletes its transactions. So the begin was not carried out if this coordinator's
// presence is still the one that the begin has checked. Otherwise the outcome can't be known, and
// the transaction must not begin again.
func (t *tx) disprove() {
	t.read(t.c.path, func(ev machine.Seen) {
		if !ev.Exists || ev.Stat.Czxid != t.Presence {
			t.end(ErrGone)
			return
		}
		t.sent = false
		t.advance()
	})
}

// askCoordinator asks another coordinator whether it is alive.
func (t *tx) askCoordinator() {
	t.busy = true
	t.zk.probe(t.root.coordinator(t.Asked), func(_ bool, err error) { t.end(err) })
}

// recoverIfDead takes a transaction over if its coordinator is dead. twopc.Coordinator.Recover has
// asked all coordinators first (Asking): one that is present now has answered, or has started
// since. So it is alive, and keeps its transactions.
func (t *tx) recoverIfDead() {
	t.read(t.root.Tx(t.id), func(ev machine.Seen) {
		rec, ok := ParseRecord(ev.Data)
		inProgress := func(o *tx) bool { return o.rec.GUID == rec.GUID }
		if !ok || slices.ContainsFunc(slices.Collect(maps.Values(t.c.txs)), inProgress) {
			t.end(ErrNotRecoverable)
			return
		}
		t.read(t.root.coordinator(rec.Coordinator), func(coordinator machine.Seen) {
			mine := rec.Coordinator == t.c.guid
			switch {
			case coordinator.Exists && !mine: // it is alive
				t.end(ErrNotRecoverable)
			case t.Aborts && !mine: // given up while a takeover was under way, which was not carried out
				t.end(ErrWithdrew)
			default: // dead; or mine: the reply to a takeover was lost, or it has ended here and was not acknowledged
				t.takeOver(rec, ev.Stat)
			}
		})
	})
}

// takeOver writes this coordinator into the record, unless the mark is gone: then the outcome is
// acknowledged.
func (t *tx) takeOver(rec Record, stat machine.Stat) {
	rec.Coordinator = t.c.guid
	t.transact(func(ev machine.Transacted) {
		switch {
		case ev.Code == machine.Done:
			t.rec = rec
			t.onBegun()
		case ev.Code == machine.NoNode && ev.Failed == passedOps: // the first of those below: the mark
			t.end(ErrNotRecoverable)
		default:
			t.advance()
		}
	},
		machine.Op{Do: machine.Check, Path: t.root.mark(t.id, rec.GUID), Version: machine.Any},
		machine.Op{Do: machine.Set, Path: t.root.Tx(t.id), Data: rec.bytes(), Version: stat.Version})
}
