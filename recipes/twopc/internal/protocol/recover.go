package protocol

import "github.com/troupe-go/troupe/machine"

// claim takes a transaction over if its coordinator is dead.
func (t *tx) claim() {
	if t.other != "" {
		t.ask(t.other, func(bool) { t.refuse(ErrNotRecoverable) })
		return
	}
	if t.c.recovers(t) {
		t.refuse(ErrNotRecoverable)
		return
	}
	t.pending = reply
	t.requests.read(t.root.Tx(t.id), func(ev machine.Seen) {
		rec, ok := parseRecord(ev.Data)
		switch {
		case ev.Code == machine.Refused && t.sent: // it may have been taken over
			t.denied(ev.Err)
		case ev.Code == machine.Refused:
			t.refuse(ev.Err)
		case !ev.Exists, !ok, t.c.has(rec.GUID):
			t.refuse(ErrNotRecoverable)
		case rec.Coordinator == t.c.guid: // already taken over, and the reply was lost; or no application has it
			t.takeOver(rec, ev.Stat)
		case t.cause != nil:
			t.refuse(ErrWithdrew)
		default:
			t.ask(rec.Coordinator, func(alive bool) {
				if alive {
					t.refuse(ErrNotRecoverable)
					return
				}
				t.takeOver(rec, ev.Stat)
			})
		}
	})
}

// ask waits until another coordinator is known to be alive or dead.
func (t *tx) ask(coordinator string, found func(alive bool)) {
	t.pending = liveness
	t.c.probe(coordinator, func(alive bool, err error) {
		switch {
		case t.phase != Recovering: // aborted meanwhile
		case err != nil:
			t.refuse(err)
		default:
			found(alive)
		}
	})
}

// takeOver writes this coordinator into the record, unless the outcome is acknowledged.
func (t *tx) takeOver(rec Record, stat machine.Stat) {
	t.pending, t.sent, t.stat = reply, true, stat
	taken := rec.Coordinator == t.c.guid
	ops := []machine.Op{
		{Do: machine.Check, Path: t.c.presence.path, Version: machine.Any},
		{Do: machine.Check, Path: t.root.Mark(t.id, rec.GUID), Version: machine.Any},
	}
	rec = rec.claimedBy(t.c.guid)
	ops = append(ops, machine.Op{Do: machine.Set, Path: t.root.Tx(t.id), Data: rec.bytes(), Version: stat.Version})
	t.requests.transact(func(ev machine.Transacted) {
		t.pending = nothing
		switch {
		case ev.Code == machine.Done:
			t.rec = rec
			t.requests.Emit(Recovered{N: t.n, GUID: rec.GUID, Sites: rec.Sites})
			if t.decided() {
				t.conclude(rec)
				return
			}
			t.opened()
		case ev.Code == machine.Refused && taken:
			t.denied(ev.Err)
		case ev.Code == machine.Refused:
			t.refuse(ev.Err)
		case ev.Code == machine.NoNode && ev.Failed == 0:
			t.c.presence.recheck()
		case ev.Code == machine.NoNode && ev.Failed == 1:
			t.refuse(ErrNotRecoverable)
		default:
			t.advance()
		}
	}, ops...)
}
