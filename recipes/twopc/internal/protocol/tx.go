package protocol

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// tx is one transaction at its coordinator.
type tx struct {
	view
	c     *Coordinator
	n     uint64
	stage stage
	busy  bool // the next step waits for a reply
	over  bool

	request Begin
	sent    int64  // a begin or takeover may have been carried out; of a begin: the Czxid of the presence at that time
	other   string // the coordinator to wait for, without a transaction

	aborts    bool   // it must be aborted
	reason    string // why
	withdrawn bool   // the machine acknowledges that it is aborted
	stopTimer func() // cancels the timer of the votes; nil: it was never set
}

type stage int

const (
	beginning     stage = iota // the transaction is being written
	recovering                 // it is being taken over
	preparing                  // votes are awaited, or the decision is being written
	acknowledging              // the coordinator deletes its mark
)

// reset forgets the state of the epoch. A write in flight may have been carried out.
func (t *tx) reset() {
	t.busy = false
	t.view.reset()
}

// advance takes the next step, if that is possible now.
func (t *tx) advance() {
	if t.busy || t.over || t.c.presence.state != registered {
		return
	}
	switch {
	case t.stage == recovering:
		t.claim()
	case t.stage == preparing:
		t.prepare()
	case t.stage == acknowledging:
		t.acknowledge()
	case t.sent != 0:
		t.resolve()
	case !t.c.mute:
		t.begin()
	}
}

// read reads a znode that the next step depends on. What is refused ends the transaction here.
func (t *tx) read(path string, seen func(machine.Seen)) {
	t.busy = true
	t.requests.read(path, func(ev machine.Seen) {
		switch t.busy = false; {
		case t.over:
		case ev.Code == machine.Refused:
			t.end(ev.Err)
		default:
			seen(ev)
		}
	})
}

// transact writes a begin or a takeover. What is refused ends the transaction here.
func (t *tx) transact(done func(machine.Transacted), ops ...machine.Op) {
	t.busy = true
	t.requests.transact(func(ev machine.Transacted) {
		t.busy = false
		if ev.Code != machine.Unknown {
			t.sent = 0
		}
		switch {
		case t.aborts && ev.Code != machine.Done && ev.Code != machine.Unknown: // given up meanwhile
			t.end(ErrWithdrew)
		case ev.Code == machine.Refused:
			t.end(ev.Err)
		case ev.Code == machine.NoNode && ev.Failed == 0: // ops checks this coordinator's presence first
			t.c.presence.recheck()
		default:
			done(ev)
		}
	}, ops...)
}

// giveUp aborts the transaction, for the first reason that was given.
func (t *tx) giveUp(reason string) {
	if !t.aborts {
		t.aborts, t.reason = true, reason
	}
	if t.stage <= recovering && t.sent == 0 {
		t.end(ErrWithdrew)
		return
	}
	t.weigh()
}

// opened is called when the transaction exists in ZooKeeper and belongs to this coordinator.
func (t *tx) opened() {
	t.requests.Emit(Noted{N: t.n, Request: Resume{N: t.n, ID: t.id, GUID: t.rec.GUID, Sites: t.rec.Sites}})
	t.request, t.sent, t.stage = Begin{}, 0, preparing
	if t.decided() {
		t.conclude(t.rec)
		return
	}
	t.prepare()
}

// prepare watches the record, the votes, and the presences of the sites that have not voted.
func (t *tx) prepare() {
	if t.record != nil {
		return
	}
	if t.stopTimer == nil {
		h := ask(t.requests, machine.Wake{After: t.c.timeout}, func(machine.Woke) { t.overdue() })
		t.stopTimer = func() { t.requests.Cancel(h) }
	}
	t.record = t.requests.follow(follower{path: t.root.Tx(t.id), once: true}, t.end, t.onRecord)
	t.awaitVotes(t.end, t.onVote)
	for _, b := range t.ballots {
		if !b.voted {
			b.site = t.requests.follow(follower{path: t.root.alive(b.Site), shared: true}, t.end, func(ev machine.Seen) { t.siteSeen(b, ev) })
			if !b.alive.Exists {
				b.alive = b.site.last
			}
		}
	}
}

func (t *tx) onRecord(ev machine.Seen) {
	switch {
	case !t.view.read(ev):
		t.end(ErrGone)
	case t.decided():
		t.conclude(t.rec)
	default:
		t.record.rearm()
		t.weigh()
	}
}

func (t *tx) onVote(b *ballot) {
	if b.voted {
		t.requests.Emit(Voted{N: t.n, Vote: b.Vote})
		b.site.stop()
	} else if b.dead && !b.missing {
		t.giveUp(fmt.Sprintf("site %q died before it voted", b.Site))
	}
	t.weigh()
}

// siteSeen handles a read of a site's presence. One that has died may have voted before. One that
// was not there from the start may still come.
func (t *tx) siteSeen(b *ballot, ev machine.Seen) {
	if died(b.alive, ev) {
		b.dead = true
		b.look()
	}
	if b.alive = ev; !ev.Exists {
		t.c.expect()
	}
}

// overdue handles the end of the vote timeout.
func (t *tx) overdue() {
	var late []string
	for _, b := range t.ballots {
		if !b.voted {
			late = append(late, fmt.Sprintf("%q", b.Site))
		}
	}
	t.giveUp("no vote in time from " + strings.Join(late, ", "))
}

// weigh decides if enough is known to decide.
func (t *tx) weigh() {
	if t.stage != preparing || t.busy || t.over || !t.known {
		return
	}
	for _, b := range t.ballots {
		if !t.aborts && (b.missing || b.voted && !b.Commit) {
			t.aborts, t.reason = true, fmt.Sprintf("another client has changed the vote of site %q", b.Site)
		}
	}
	all := t.agreed()
	if all {
		t.stopTimer() // no vote is waited for any more
	}
	switch {
	case t.aborts:
		t.write(t.rec.decided(Aborted, "", t.reason))
	case all && !t.rec.Peers && t.rec.Coordinator == t.c.guid:
		t.write(t.rec.decided(Committed, "", ""))
	}
}

// write writes the decision.
func (t *tx) write(rec Record) {
	t.busy = true
	t.decide(rec, func(ev machine.Transacted) {
		t.busy = false
		switch {
		case t.over: // seen to be decided, or gone, meanwhile
		case ev.Code == machine.Done:
			t.conclude(rec)
		case ev.Code == machine.Refused:
			t.end(ev.Err)
		}
	})
}

// conclude is called when the decision is in ZooKeeper.
func (t *tx) conclude(rec Record) {
	t.requests.Emit(Decided{N: t.n, Outcome: rec.State, By: rec.By, Reason: rec.Reason})
	t.release()
	if t.withdrawn && rec.State == Aborted {
		t.stage = acknowledging
		t.requests.Emit(Noted{N: t.n, Request: Resume{N: t.n, ID: t.id, GUID: t.rec.GUID, Acked: true}})
		t.acknowledge()
		return
	}
	t.end(nil)
}

// acknowledge deletes the coordinator's mark, and the whole transaction if no site needs it.
func (t *tx) acknowledge() {
	t.busy = true
	t.depart(func(code machine.Code, err error) {
		if code == machine.NoNode { // acknowledged before, by this coordinator or by another one that had it
			err = nil
		}
		t.end(err)
	}, t.root.mark(t.id, t.rec.GUID))
}

// end ends the transaction at this coordinator, or the request about it.
func (t *tx) end(err error) {
	if t.over {
		return
	}
	t.over = true
	t.release()
	t.requests.Emit(Ended{N: t.n, Err: err, InDoubt: t.stage == beginning && t.sent != 0})
	delete(t.c.txs, t.n)
}

// release ends the watches and the timer.
func (t *tx) release() {
	if t.stopTimer != nil {
		t.stopTimer()
	}
	t.view.stop()
}
