package protocol

import "github.com/troupe-go/troupe/machine"

// acknowledge deletes the coordinator's mark when the application has acknowledged the outcome, and
// the whole transaction if no site needs it. If several coordinators have had the transaction, the
// outcome is written to a tombstone: the others may be alive, and may not know the outcome, nor
// whether it has begun.
func (t *tx) acknowledge() {
	t.pending = reply
	d := &departure{view: &t.view, own: []string{t.mark()}, done: t.acknowledged}
	if t.rec.Origin != "" {
		rec := t.rec
		rec.Acked = t.c.guid
		d.tombstone = rec.bytes()
	}
	if len(t.rec.Sites) == 0 {
		d.leave("", true)
		return
	}
	d.leave(t.path(t.rec.Sites[0]), false)
}

func (t *tx) acknowledged(code machine.Code, err error) {
	done := func(err error) {
		if err == nil {
			t.c.sweeper.release(t.rec.GUID)
		}
		t.requests.Emit(OutcomeAcked{N: t.n, Err: err})
		t.end()
	}
	switch code {
	case machine.Refused:
		done(err)
	case machine.NoNode: // acknowledged before, by this coordinator or by another one, which may have left a tombstone only for this one
		tombstone := t.root.Tombstone(t.id, t.rec.GUID)
		t.requests.read(tombstone, func(ev machine.Seen) {
			if rec, ok := parseRecord(ev.Data); ok && rec.concerns(t.c.guid) {
				t.requests.remove(tombstone, func() { done(nil) })
				return
			}
			done(nil)
		})
	default:
		done(nil)
	}
}
