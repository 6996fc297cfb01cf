package pact

import "github.com/troupe-go/troupe/machine"

// settle deletes the coordinator's mark when the application has acknowledged the outcome, and the
// whole transaction if no site needs it. If several coordinators have had the transaction, the
// outcome is written to a tombstone: the others may be alive, and may not know the outcome, nor
// whether it has begun.
func (t *tx) settle() {
	if t.busy || t.c.desk.epoch == 0 {
		return
	}
	t.busy = true
	d := &departure{desk: t.c.desk, root: t.c.root, id: t.id, guid: t.guid, own: []string{t.c.root.Open(t.id, t.guid)}, done: t.settled}
	if len(t.sites) > 0 {
		d.guess = t.c.root.Vote(t.id, t.guid, t.sites[0])
	}
	if t.shared != (Shared{}) {
		rec := t.rec
		rec.Acked = t.c.guid
		d.tombstone = rec.bytes()
	}
	d.begin()
}

func (t *tx) settled(code machine.Code, err error) {
	done := func(err error) {
		if err == nil {
			t.c.sweeper.release(t.guid)
		}
		t.c.desk.do(Settled{N: t.n, Err: err})
		t.over()
	}
	switch code {
	case machine.Refused:
		done(err)
	case machine.NoNode: // settled before, by this coordinator or by another one, which may have left a tombstone only for this one
		tombstone := t.c.root.Tombstone(t.id, t.guid)
		t.c.desk.read(tombstone, watcher{}, func(ev machine.Seen) {
			if rec, ok := parseRecord(ev.Data); ok && rec.concerns(t.c.guid) {
				t.c.desk.remove(tombstone, func() { done(nil) })
				return
			}
			done(nil)
		})
	default:
		done(nil)
	}
}
