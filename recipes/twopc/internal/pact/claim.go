package pact

import "github.com/troupe-go/troupe/machine"

// claim takes a transaction over if its coordinator is dead.
func (t *tx) claim() {
	if t.other != "" {
		t.attendOther()
		return
	}
	if t.c.claims(t) {
		t.refuse(ErrNobodys)
		return
	}
	t.busy = true
	t.c.desk.read(t.c.root.Tx(t.id), watcher{}, func(ev machine.Seen) {
		rec, ok := parseRecord(ev.Data)
		switch {
		case ev.Code == machine.Refused && t.sent: // it may have been taken over
			t.hinder(ev.Err)
		case ev.Code == machine.Refused:
			t.refuse(ev.Err)
		case !ev.Exists, !ok, t.c.follows(rec.GUID):
			t.refuse(ErrNobodys)
		case rec.Coordinator == t.c.guid: // already taken over, and the reply was lost; or no application has it
			t.takeOver(rec, ev.Stat)
		case t.cause != nil:
			t.refuse(ErrWithdrew)
		default:
			t.probing = true
			t.c.probe(rec.Coordinator, func(alive bool, err error) {
				t.probing = false
				switch {
				case t.phase != Claiming: // aborted meanwhile
				case err != nil:
					t.refuse(err)
				case alive:
					t.refuse(ErrNobodys)
				default:
					t.takeOver(rec, ev.Stat)
				}
			})
		}
	})
}

// attendOther waits until another coordinator is known to be alive or dead.
func (t *tx) attendOther() {
	t.busy, t.probing = true, true
	t.c.probe(t.other, func(_ bool, err error) {
		t.probing = false
		if t.phase != Claiming {
			return
		}
		if err == nil {
			err = ErrNobodys
		}
		t.refuse(err)
	})
}

// takeOver writes this coordinator into the record, unless the outcome is acknowledged.
func (t *tx) takeOver(rec Record, stat machine.Stat) {
	t.sent, t.czxid = true, stat.Czxid
	taken := rec.Coordinator == t.c.guid
	ops := []machine.Op{
		{Do: machine.Check, Path: t.c.presence.path, Version: machine.Any},
		{Do: machine.Check, Path: t.c.root.Open(t.id, rec.GUID), Version: machine.Any},
	}
	rec = rec.claimedBy(t.c.guid)
	ops = append(ops, machine.Op{Do: machine.Set, Path: t.c.root.Tx(t.id), Data: rec.bytes(), Version: stat.Version})
	t.c.desk.transact(func(ev machine.Transacted) {
		t.busy = false
		switch {
		case ev.Code == machine.Done:
			t.took(rec)
		case ev.Code == machine.Refused && taken:
			t.hinder(ev.Err)
		case ev.Code == machine.Refused:
			t.refuse(ev.Err)
		case ev.Code == machine.NoNode && ev.Failed == 0:
			t.c.presence.doubt()
		case ev.Code == machine.NoNode && ev.Failed == 1:
			t.refuse(ErrNobodys)
		default:
			t.advance()
		}
	}, ops...)
}

func (t *tx) took(rec Record) {
	t.guid, t.sites, t.peers, t.rec = rec.GUID, rec.Sites, rec.Peers, rec
	t.c.desk.do(Adopted{N: t.n, GUID: t.guid, Sites: t.sites})
	if rec.State == Undecided {
		t.opened()
		return
	}
	t.decided(rec)
}
