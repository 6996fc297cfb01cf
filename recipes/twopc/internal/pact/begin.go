package pact

import "github.com/troupe-go/troupe/machine"

// begin writes the transaction in one ZooKeeper transaction: the record, the payload, the
// coordinator's mark, and for each site its vote, the entry in its inbox, and a write to the inbox,
// which fires the site's watch.
func (t *tx) begin() {
	if !t.admitted && !t.admit() {
		return
	}
	if t.floor == 0 {
		t.floor = max(t.c.desk.zxid, 1)
		t.c.desk.do(Sent{N: t.n, Floor: t.floor})
	}
	t.busy, t.sent = true, true
	root := t.c.root
	rec := Record{GUID: t.guid, Sites: t.sites, Coordinator: t.c.guid, Peers: t.peers}
	ops := []machine.Op{
		{Do: machine.Check, Path: t.c.presence.path, Version: machine.Any}, // a reader of the record may conclude from a missing presence that this coordinator has died
		{Do: machine.Create, Path: root.Tx(t.id), Data: rec.bytes()},
		{Do: machine.Create, Path: root.Payload(t.id, t.guid), Data: t.payload},
		{Do: machine.Create, Path: root.Open(t.id, t.guid)},
	}
	for _, site := range t.sites {
		ops = append(ops,
			machine.Op{Do: machine.Create, Path: root.Vote(t.id, t.guid, site)},
			machine.Op{Do: machine.Create, Path: root.Inbox(site) + "/" + entryPrefix(t.guid, t.id), Sequential: true},
			machine.Op{Do: machine.Set, Path: root.Inbox(site), Version: machine.Any})
	}
	t.c.desk.transact(t.began, ops...)
}

func (t *tx) began(ev machine.Transacted) {
	t.busy = false
	t.sent = ev.Code == machine.Unknown // a refused request was not carried out
	switch {
	case ev.Code == machine.Done:
		t.c.desk.do(Begun{N: t.n})
		t.opened()
	case ev.Code == machine.Refused:
		t.refuse(ev.Err)
	case ev.Code == machine.NoNode && ev.Failed == 0:
		t.c.presence.doubt()
	case ev.Code == machine.NoNode:
		t.furnish()
	case ev.Code == machine.NodeExists:
		t.inspect()
	default:
		t.advance()
	}
}

// furnish creates the missing znodes around a transaction.
func (t *tx) furnish() {
	paths := []string{t.c.root.Transactions()}
	for _, site := range t.sites {
		paths = append(paths, t.c.root.Inbox(site))
	}
	t.busy = true
	t.c.desk.ensure(func(err error) {
		t.busy = false
		if err != nil {
			t.refuse(err)
			return
		}
		t.advance()
	}, paths...)
}

// resolve finds out whether a begin whose reply was lost was carried out. A transaction that has
// begun never begins again, even if it is over and deleted: nothing of it is deleted before its
// outcome is acknowledged or written to a tombstone, or before [Root.Swept] says that it may have
// been deleted.
func (t *tx) resolve() {
	t.busy = true
	t.c.desk.read(t.c.root.Tx(t.id), watcher{}, func(ev machine.Seen) {
		rec, ok := parseRecord(ev.Data)
		switch {
		case ev.Code == machine.Refused:
			t.hinder(ev.Err)
		case ev.Exists && ok && rec.GUID == t.guid:
			t.c.desk.do(Begun{N: t.n})
			t.opened()
		default:
			t.remains(t.unbegun)
		}
	})
}

// remains looks for the outcome of a transaction whose record is gone, or else for a note that it
// may have been swept.
func (t *tx) remains(none func(swept bool)) {
	t.c.desk.read(t.c.root.Tombstone(t.id, t.guid), watcher{}, func(ev machine.Seen) {
		rec, ok := parseRecord(ev.Data)
		switch {
		case t.phase == Ended: // the reply to its own decision arrived meanwhile
		case ev.Code == machine.Refused:
			t.missed(ev.Err)
		case ev.Exists && ok:
			t.busy = false
			if t.phase == Beginning {
				t.c.desk.do(Begun{N: t.n})
			}
			t.decided(rec)
		default:
			t.c.desk.read(t.c.root.Swept(), watcher{}, func(ev machine.Seen) {
				t.busy = false
				switch {
				case t.phase == Ended:
				case ev.Code == machine.Refused:
					t.missed(ev.Err)
				default:
					none(parseSwept(ev.Data) >= t.floor)
				}
			})
		}
	})
}

// missed handles a refused read of what is left of the transaction. If it is not known whether the
// transaction has begun, the machine keeps trying.
func (t *tx) missed(err error) {
	t.busy = false
	if t.phase == Beginning {
		t.hinder(err)
		return
	}
	t.fail(err)
}

// lose ends the transaction with an error, before or after it was known to have begun.
func (t *tx) lose(err error) {
	if t.phase == Beginning || t.phase == Claiming {
		t.refuse(err)
		return
	}
	t.fail(err)
}

// unbegun handles a begin that was not carried out, unless it may have been swept.
func (t *tx) unbegun(swept bool) {
	switch {
	case swept:
		t.refuse(ErrGone)
	case t.cause != nil:
		t.refuse(ErrWithdrew)
	default:
		t.begin()
	}
}

// bereaved handles a record that is gone. Either another coordinator took the transaction over and
// has acknowledged it, or another client deleted it.
func (t *tx) bereaved() {
	t.unfollow()
	t.busy = true
	t.remains(func(bool) { t.fail(ErrGone) })
}

// inspect reads the other transaction that exists under the id.
func (t *tx) inspect() {
	t.busy = true
	t.c.desk.read(t.c.root.Tx(t.id), watcher{}, func(ev machine.Seen) {
		t.busy = false
		rec, ok := parseRecord(ev.Data)
		switch {
		case ev.Code == machine.Refused:
			t.refuse(ev.Err)
		case !ev.Exists:
			t.advance()
		case ok && rec.GUID == t.guid:
			t.c.desk.do(Begun{N: t.n})
			t.opened()
		case ok && rec.State != Undecided && ev.Stat.Children <= 1: // the coordinator's mark
			t.refuse(ErrFinished)
		default:
			t.refuse(ErrInUse)
		}
	})
}

// refuse ends the transaction before it has begun or was taken over.
func (t *tx) refuse(err error) {
	t.c.desk.do(Refused{N: t.n, Err: err})
	t.over()
}
