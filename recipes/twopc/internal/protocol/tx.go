package protocol

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// tx is one request of a coordinator's application, and its transaction.
type tx struct {
	view    // busy: no step is taken before the reply
	Request // Aborts: it was given up; Withdrawn: and the application does not acknowledge
	c       *Coordinator
	ended   bool     // the application was told Ended, which is final
	sent    bool     // a begin or takeover is under way, or its outcome is unknown: to drop the request is not enough
	timer   *handler // the vote timeout; nil: it was never set
}

// advance takes the next step. A request that was given up ends before anything is sent for it,
// even without a connection. All other steps wait for the reply under way and for the presence. A
// begin of unknown outcome is resolved before it may be sent again.
func (t *tx) advance() {
	switch {
	case t.ended:
	case t.Aborts && t.Stage <= Recovering && !t.sent:
		t.end(ErrWithdrew)
	case t.busy || t.c.state != registered:
	case t.Stage == Asking:
		t.askCoordinator()
	case t.Stage == Recovering:
		t.recoverIfDead()
	case t.Stage == Preparing:
		t.prepare()
	case t.Stage == Acknowledging:
		t.acknowledge()
	case t.sent:
		t.resolve()
	case !t.c.suspended:
		t.begin()
	}
}

// read reads a znode for the next step. A refusal by ZooKeeper ends the request.
func (t *tx) read(path string, seen func(machine.Seen)) {
	t.busy = true
	ask(t.zk, machine.Read{Path: path}, func(ev machine.Seen) {
		switch t.busy = false; {
		case t.ended:
		case ev.Code == machine.Refused:
			t.end(ev.Err)
		default:
			seen(ev)
		}
	})
}

const presenceCheck, passedOps = 0, 1 // the indexes in an answer to transact: of its own check; of the first operation it was passed

// transact writes a begin or a takeover, if this coordinator's presence exists. A refusal by
// ZooKeeper ends the request.
func (t *tx) transact(done func(machine.Transacted), ops ...machine.Op) {
	t.busy, t.sent = true, true
	t.zk.transact(func(ev machine.Transacted) {
		t.busy, t.sent = false, ev.Code == machine.Done || ev.Code == machine.Unknown
		switch {
		case t.Aborts && !t.sent: // given up meanwhile
			t.end(ErrWithdrew)
		case ev.Code == machine.Refused:
			t.end(ev.Err)
		case ev.Code == machine.NoNode && ev.Failed == presenceCheck:
			t.c.state = pending // until the presence was read again
			t.c.znode.readNow()
		default:
			done(ev)
		}
	}, slices.Insert(ops, presenceCheck, machine.Op{Do: machine.Check, Path: t.c.path, Version: machine.Any})...)
}

// giveUp aborts the transaction. The first reason counts.
func (t *tx) giveUp(reason string) {
	if !t.Aborts {
		t.Aborts, t.Reason = true, reason
	}
	t.advance()
}

// onBegun is called when the transaction exists in ZooKeeper and belongs to this coordinator.
func (t *tx) onBegun() {
	t.sent = false
	t.setStage(Preparing)
	if t.decided() {
		t.onDecided(t.rec)
	}
	t.advance()
}

// setStage changes the stage, and the request that a restarted machine will be told.
func (t *tx) setStage(stage Stage) {
	t.Stage, t.GUID, t.Sites, t.Payload, t.Presence = stage, t.rec.GUID, t.rec.Sites, nil, 0
	t.zk.Emit(Progressed{t.Request})
}

// prepare decides if that is due. In each epoch it first watches the record, the votes, and the
// presences of the sites that have not voted.
func (t *tx) prepare() {
	if t.follows != nil {
		t.decideIfDue()
		return
	}
	if t.timer == nil {
		t.timer = ask(t.zk, machine.Wake{After: t.c.timeout}, func(machine.Woke) { t.overdue() })
	}
	t.watchRecord()
	t.watchVotes(t.onVote)
	for _, b := range t.ballots {
		if !b.voted {
			b.site = t.zk.follow(follower{path: t.root.alive(b.Site), shared: true}, t.end, func(ev machine.Seen) { t.siteSeen(b, ev) })
		}
	}
}

func (t *tx) onVote(b *ballot) {
	if b.voted {
		t.zk.Emit(Voted{N: t.N, Vote: b.Vote})
		b.site.stop()
	} else if b.dead {
		t.giveUp(fmt.Sprintf("site %q died before it voted", b.Site))
	}
}

// siteSeen handles a read of a site's presence. A site that has died may have voted before. A site
// that was missing from the start may still come.
func (t *tx) siteSeen(b *ballot, ev machine.Seen) {
	if died(b.presence, ev) {
		b.dead = true
		b.readNow()
	}
	if b.presence = ev; !ev.Exists {
		t.c.watchForSites()
	}
}

// overdue handles the end of the vote timeout.
func (t *tx) overdue() {
	var missing []string
	for _, b := range t.ballots {
		if !b.voted {
			missing = append(missing, fmt.Sprintf("%q", b.Site))
		}
	}
	t.giveUp("no vote in time from " + strings.Join(missing, ", "))
}

// decideIfDue decides if the record and the votes allow it.
func (t *tx) decideIfDue() {
	agreed := t.agreed()
	if agreed {
		t.zk.Cancel(t.timer) // the transaction waits for no vote any more
	}
	switch {
	case !t.fresh():
	case t.Aborts:
		t.decide(t.rec.decided(Aborted, "", t.Reason))
	case agreed && !t.rec.Peers && t.rec.Coordinator == t.c.guid:
		t.decide(t.rec.decided(Committed, "", ""))
	}
}

func (t *tx) onUndecided()        {}
func (t *tx) onGone()             { t.end(ErrGone) }
func (t *tx) onRefused(err error) { t.end(err) }

func (t *tx) onDecided(rec Record) {
	if t.ended { // the decision was seen before this reply to it
		return
	}
	t.zk.Emit(Decided{N: t.N, Outcome: rec.State, By: rec.By, Reason: rec.Reason})
	if !t.Withdrawn || rec.State != Aborted {
		t.end(nil)
		return
	}
	t.release()
	t.setStage(Acknowledging)
}

// acknowledge deletes the mark, and the whole transaction if no site needs it any more.
func (t *tx) acknowledge() {
	t.busy = true
	t.deleteOwn(t.end, t.root.mark(t.id, t.rec.GUID))
}

func (t *tx) end(err error) {
	if t.ended {
		return
	}
	t.ended = true
	t.release()
	t.zk.Emit(Ended{N: t.N, Err: err, InDoubt: t.Stage == Beginning && t.sent})
	delete(t.c.txs, t.N)
}

func (t *tx) release() {
	t.zk.Cancel(t.timer)
	t.stop()
}
