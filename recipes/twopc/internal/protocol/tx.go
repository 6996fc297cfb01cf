package protocol

import "github.com/troupe-go/troupe/machine"

// tx is one transaction at its coordinator.
type tx struct {
	view
	c       *Coordinator
	n       uint64
	phase   Phase
	pending pending

	payload  []byte
	admitted bool   // every site has room for it
	sent     bool   // it may have begun, or been taken over
	floor    int64  // the begin's znodes have larger zxids than this
	other    string // the coordinator to wait for, without a transaction

	cause     *cause // why it must be aborted
	stopTimer func() // cancels the timer of the votes; nil: it was never set
	denial    denial
}

// pending is what a transaction waits for before its next step.
type pending int

const (
	nothing  pending = iota
	reply            // to a request
	liveness         // of its coordinator, which is asked whether it is alive
	pause            // after ZooKeeper has refused a request
)

func (t *tx) move(to Phase) { t.c.move(&t.phase, to) }

// reset forgets the state of the epoch. A write in flight may have been carried out.
func (t *tx) reset() {
	t.unpause()
	t.pending, t.known, t.record, t.denial.deferred = nothing, false, nil, nil
	for _, b := range t.ballots {
		b.follower = nil
	}
	if t.phase == Deciding {
		t.move(Preparing)
	}
}

// advance takes the next step, if that is possible now.
func (t *tx) advance() {
	if t.pending != nothing || t.c.presence.state != registered {
		return
	}
	switch t.phase {
	case Beginning:
		switch {
		case t.sent:
			t.resolve()
		case t.cause == nil:
			t.begin()
		default:
			t.refuse(ErrWithdrew)
		}
	case Recovering:
		t.claim()
	case Preparing:
		t.prepare()
	case Acknowledging:
		t.acknowledge()
	}
}

// giveUp aborts the transaction, with the first reason that was given.
func (t *tx) giveUp(reason string) {
	t.abortFor(reason)
	switch idle := t.pending == nothing; {
	case t.phase == Beginning && t.floor != 0 && (t.sent || !idle):
		t.requests.Emit(Doubtful{N: t.n})
	case t.phase == Beginning, t.phase == Recovering && idle && !t.sent:
		t.refuse(ErrWithdrew)
	case t.phase == Recovering && t.pending == liveness: // it belongs to another coordinator
		t.refuse(ErrWithdrew)
	case t.phase == Preparing && idle:
		t.weigh()
	}
}

// opened is called when the transaction exists in ZooKeeper and belongs to this coordinator.
func (t *tx) opened() {
	if t.phase == Beginning {
		t.requests.Emit(Begun{N: t.n})
	}
	t.pending, t.payload, t.marked = nothing, nil, true
	t.move(Preparing)
	t.prepare()
}

// prepare watches the record, the votes, and the presences of the sites that have not voted.
func (t *tx) prepare() {
	if t.record != nil || t.requests.Epoch() == 0 {
		return
	}
	if t.ballots == nil {
		for _, site := range t.rec.Sites {
			t.ballots = append(t.ballots, &ballot{Vote: Vote{Site: site}})
		}
	}
	if t.stopTimer == nil && t.denial.err == nil {
		t.stopTimer = t.requests.pause(t.c.timeout, t.overdue)
	}
	t.follow(t.onRecord)
	if t.denial.err != nil { // it will be aborted, which needs only the record
		return
	}
	for _, b := range t.ballots {
		b.follower = t.requests.await(t.path(b.Site), func(ev machine.Seen) { t.onVote(b, ev) })
		if !b.voted {
			t.c.sites.watch(b.Site, t.n, func() { t.siteDied(b) })
		}
	}
}

func (t *tx) onRecord(ev machine.Seen) {
	switch {
	case ev.Code == machine.Refused:
		t.refused(ev.Err)
	case !t.read(ev):
		t.gone()
	case t.decided():
		t.conclude(t.rec)
	default:
		t.record.rearm()
		t.weigh()
	}
}

func (t *tx) onVote(b *ballot, ev machine.Seen) {
	if ev.Code == machine.Refused {
		t.refused(ev.Err)
		return
	}
	b.read(ev)
	switch {
	case b.missing: // already acknowledged, so the record has the decision; or another client deleted it
		t.look()
	case !b.voted:
		b.rearm()
	default:
		t.tell(b, b.Vote)
		t.c.sites.release(b.Site, t.n)
		if !b.Commit { // the vote aborted the transaction, unless another client wrote it
			t.look()
			return
		}
		t.weigh()
	}
}

// tell tells the application a site's vote, once.
func (t *tx) tell(b *ballot, vote Vote) {
	if !b.told {
		b.told = true
		t.requests.Emit(Voted{N: t.n, Vote: vote})
	}
}

// stop ends the watches and the timer.
func (t *tx) stop() {
	if t.stopTimer != nil {
		t.stopTimer()
	}
	t.view.stop()
	for _, b := range t.ballots {
		t.c.sites.release(b.Site, t.n)
	}
}

// conclude is called when the decision is in ZooKeeper.
func (t *tx) conclude(rec Record) {
	t.rec = rec
	t.stop()
	for _, b := range t.ballots {
		if b.Site == rec.By {
			t.tell(b, Vote{Site: rec.By, Reason: rec.Reason})
		}
	}
	t.requests.Emit(Decided{N: t.n, Outcome: rec.State, By: rec.By, Reason: rec.Reason, Shared: rec.shared()})
	t.c.sweeper.keep(outcome{id: t.id, guid: rec.GUID, czxid: t.stat.Czxid})
	t.requests.Emit(Over{N: t.n, Czxid: t.stat.Czxid})
	t.end()
}

// refuse ends the transaction before it has begun or was taken over.
func (t *tx) refuse(err error) {
	if t.phase == Beginning && t.cause != nil && !t.sent { // it was withdrawn, and needs no other reason
		err = ErrWithdrew
	}
	t.requests.Emit(Refused{N: t.n, Err: err})
	t.end()
}

// fail ends the transaction at this coordinator without an outcome.
func (t *tx) fail(err error) {
	t.stop()
	t.requests.Emit(Failed{N: t.n, Err: err})
	t.end()
}

// end forgets the transaction.
func (t *tx) end() {
	t.unpause()
	t.move(Ended)
	t.c.forget(t.n)
}
