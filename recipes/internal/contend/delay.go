package contend

import "github.com/troupe-go/troupe/machine"

// delay is a lock's delay after a holder that died. It allows a grant when the record contains the
// own znode's token. Its state belongs to that znode, and is forgotten with it.
type delay struct {
	m       *Machine
	after   int64         // milliseconds
	stage   State         // Open, Recording, Delaying or Recorded
	claim   machine.Claim // the last one that was to be granted
	version int32         // of the record with that token, which will be replaced
	waited  int64         // another's token in the record, whose delay runs or has run; 0: none
	asked   bool          // a grant waits for the pending request or for the delay
	leaving bool          // the own znode is to be deleted, once it is known whether the token was written
}

// passes tells whether the claim may be granted now. If not, it writes the token into the record,
// and goes on with the answer.
func (d *delay) passes(c machine.Claim) bool {
	d.claim = c
	switch d.stage {
	case Recorded:
		return true
	case Open:
		d.write(-1)
	}
	d.asked = true
	return false
}

// write writes the token into the record, if that still has this version. A Try announces no delay
// to observers, since it waits for none.
func (d *delay) write(version int32) {
	d.stage = Recording
	after := d.after
	if d.stillFirst() && d.m.claims[0].try {
		after = 0
	}
	d.m.ask(machine.Record{Path: d.m.entry.path, Token: d.m.entry.czxid, Version: version, Delay: after}, delaying)
}

// on takes the answer to a write of the record, or the end of the delay, when the token is written.
func (d *delay) on(ev machine.Event) {
	e, answered := ev.(machine.Recorded)
	if !answered {
		d.write(d.version)
		return
	}
	written := e.Err == nil && e.Token == d.m.entry.czxid
	if written {
		d.stage = Recorded
	}
	switch {
	case d.leaving:
		if !written {
			d.stage = Open
		}
		d.leave()
	case e.Err != nil:
		d.failed(e.Err)
	case written:
		d.goOn()
	case e.Version < 0, e.Token == d.waited && d.waited != 0: // there is no record, or its delay has run
		d.write(e.Version)
	default:
		d.found(e)
	}
}

// found handles another token in the record. No contender is ahead, so the holder with that token
// has died, or lost its possession. A Try does not wait for the delay.
func (d *delay) found(e machine.Recorded) {
	d.stage, d.version, d.waited = Delaying, e.Version, e.Token
	d.m.ask(machine.Wake{After: d.after}, delaying)
	if d.stillFirst() && d.m.claims[0].try {
		d.m.refuse(machine.ErrHeld)
	}
}

// failed settles the claim that was to be granted, since the record cannot be written. The next
// claim tries again, and so does one that has taken the znode over meanwhile.
func (d *delay) failed(err error) {
	refused := d.stillFirst()
	d.reset()
	if refused {
		d.m.refuse(err)
	}
	d.goOn()
}

// stillFirst tells whether the claim that was to be granted is still wanted.
func (d *delay) stillFirst() bool { return len(d.m.claims) > 0 && d.m.claims[0].id == d.claim }

// goOn lets the machine grant. If the session is not trusted, it does so when trust is gained.
func (d *delay) goOn() {
	if d.m.session.trusted {
		d.m.retry()
	}
}

// leave deletes the own znode. It deletes the record too, if that contains the token and the
// possession was not lost.
func (d *delay) leave() {
	switch {
	case d.stage == Recording:
		d.leaving = true
		return
	case d.stage == Recorded && !d.m.entry.lost:
		d.m.requests.Emit(machine.Release{Epoch: d.m.requests.Epoch(), Path: d.m.entry.path})
	default:
		d.m.requests.Emit(machine.Remove{Epoch: d.m.requests.Epoch(), Path: d.m.entry.path})
	}
	d.reset()
}

// reset forgets the own znode, which is not first any more.
func (d *delay) reset() {
	*d = delay{m: d.m, after: d.after, stage: Open}
	d.m.requests.Forget(request{kind: delaying})
}
