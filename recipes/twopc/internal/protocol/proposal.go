package protocol

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
)

// proposal is one transaction at a site.
type proposal struct {
	view
	s     *Site
	entry string // name of the znode in the inbox
	// For the application.
	offered bool  // it has the transaction
	told    bool  // it has the outcome
	cast    *Cast // its vote, until that is answered
	ack     bool  // it has acknowledged the outcome, and is not answered yet
	// Read in ZooKeeper: the fields below voteRead together, in each epoch.
	gone     bool // the transaction is gone, for good
	voteRead bool
	payload  machine.Seen
	voted    Outcome // this site's vote
	voteGone bool    // the znode of this site's vote is gone
	// While the transaction is undecided.
	coordinator *subscription // of the coordinator's presence
	orphaned    bool          // that presence is gone
}

func (p *proposal) reset() {
	p.view.reset()
	p.coordinator, p.voteRead, p.orphaned, p.ballots = nil, false, false, nil
}

// resume reads the znodes that were not read in this epoch.
func (p *proposal) resume() {
	if !p.gone {
		if !p.voteRead {
			p.readVote()
		}
		if p.follows == nil && !p.decided() {
			p.watchRecord()
		}
	}
	p.advance()
}

// readVote reads this site's vote and the payload, and takes the next step. Without permission to
// read them the site cannot work.
func (p *proposal) readVote() {
	p.voteRead = false
	queries := []machine.Query{{Path: p.path(p.s.name)}, {Path: p.root.payload(p.id, p.rec.GUID)}}
	ask(p.zk, machine.MultiRead{Queries: queries}, func(ev machine.MultiSeen) {
		vote, payload := ev.Answers[0].(machine.Seen), ev.Answers[1].(machine.Seen)
		if err := errors.Join(vote.Err, payload.Err); err != nil {
			p.s.stop(err)
			return
		}
		p.voteRead, p.voteGone, p.payload = true, !vote.Exists, payload
		if vote.Exists && vote.Stat.Version > 0 {
			p.voted = ParseVote(p.s.name, vote.Data).Outcome()
		}
		p.advance()
	})
}

// onUndecided watches the coordinator's presence and, if the sites decide, the votes. A coordinator
// begins a transaction only while its presence exists, so one without a presence has died.
func (p *proposal) onUndecided() {
	p.coordinator.stop()
	p.orphaned = false
	p.coordinator = p.zk.follow(follower{path: p.root.coordinator(p.rec.Coordinator), shared: true}, p.s.stop, func(ev machine.Seen) {
		p.orphaned = !ev.Exists
		p.advance()
	})
	if p.rec.Peers && p.ballots == nil {
		p.watchVotes(func(*ballot) {})
	}
}

func (p *proposal) stop() {
	p.view.stop()
	p.coordinator.stop()
}

func (p *proposal) onDecided(rec Record) {
	if !p.gone { // else this reply to the decision comes too late
		p.rec = rec
		p.stop()
	}
}

func (p *proposal) onGone() {
	p.gone = true
	p.stop()
}

// onRefused ends the site, which cannot work without the permission.
func (p *proposal) onRefused(err error) { p.s.stop(err) }

// advance offers the transaction to the application, tells the outcome, and then takes one step in
// ZooKeeper: the application's vote comes first, since its answer may be that there is a decision.
func (p *proposal) advance() {
	known := p.gone || p.voteRead && (p.fresh() || p.decided())
	if p.busy || p.s.stopped || p.s.state != registered || !known {
		return
	}
	if !p.offered {
		if p.s.nextToOffer() != p {
			return // transactions are offered in the order in which they began
		}
		p.offered = true
		p.zk.Emit(Propose{GUID: p.rec.GUID, ID: p.id, Entry: p.entry, Payload: p.payload.Data, Voted: p.voted})
		if next := p.s.nextToOffer(); next != nil {
			next.advance()
		}
	}
	open := !p.decided() && !p.gone
	if open && p.voted == Undecided && !p.payload.Exists { // without its payload the transaction cannot be carried out
		p.onGone()
	}
	if !p.told && (p.decided() || p.gone) {
		p.told = true
		p.zk.Emit(Learned{GUID: p.rec.GUID, Outcome: p.rec.State, Reason: p.rec.Reason})
	}
	switch {
	case p.cast != nil && !p.answer(*p.cast):
		p.vote(*p.cast)
	case p.ack:
		p.acknowledge()
	case p.decided() || p.gone:
	case p.rec.Peers && p.agreed():
		p.decide(p.rec.decided(Committed, "", ""))
	case p.orphaned && (!p.rec.Peers || p.allRead()): // if the sites decide, all votes have to be read: they may agree
		p.decide(p.rec.decided(Aborted, "", "the coordinator died"))
	}
}

// answer answers a vote that does not have to be written. It returns false if the vote has to be
// written.
func (p *proposal) answer(c Cast) bool {
	switch want := (Vote{Commit: c.Commit}).Outcome(); {
	case p.voted == want:
		p.voteDone(nil)
	case p.voted != Undecided:
		p.voteDone(ErrVoted)
	case p.gone, p.voteGone && !p.decided():
		p.voteDone(ErrGone)
	case p.decided():
		p.voteDone(ErrDecided)
	default:
		return false
	}
	return true
}

func (p *proposal) voteDone(err error) {
	p.cast = nil
	p.zk.Emit(CastDone{GUID: p.rec.GUID, Voted: p.voted, Err: err})
}

// vote writes the vote, once, and only if the transaction is undecided. A vote to abort also writes
// the decision, in the same ZooKeeper transaction.
func (p *proposal) vote(c Cast) {
	p.busy = true
	vote := Vote{Site: p.s.name, Commit: c.Commit, Reason: c.Reason}
	rec := p.rec
	record := machine.Op{Do: machine.Check, Path: p.root.Tx(p.id), Version: p.stat.Version}
	if !c.Commit {
		rec = rec.decided(Aborted, p.s.name, c.Reason)
		record.Do, record.Data = machine.Set, rec.bytes()
	}
	p.zk.transact(func(ev machine.Transacted) {
		p.busy = false
		switch ev.Code {
		case machine.Done:
			p.voted = vote.Outcome()
			if !c.Commit {
				p.onDecided(rec)
			}
		case machine.Refused:
			p.voteDone(ev.Err)
		default: // another decision came first, or the reply was lost
			p.follows.readNow()
			p.readVote()
		}
		p.advance()
	}, record, machine.Op{Do: machine.Set, Path: p.path(p.s.name), Data: vote.bytes(), Version: 0})
}

func (p *proposal) acknowledge() {
	if !p.decided() && !p.gone {
		p.acked(ErrUndecided)
		return
	}
	p.busy = true
	p.deleteOwn(p.acked, p.path(p.s.name), p.root.inbox(p.s.name)+"/"+p.entry)
}

// acked answers the acknowledgement. After a refusal the application may try again.
func (p *proposal) acked(err error) {
	p.busy, p.ack = false, false
	if err == nil && !p.decided() {
		err = ErrGone
	}
	p.zk.Emit(Acked{GUID: p.rec.GUID, Err: err})
	if err == nil || errors.Is(err, ErrGone) {
		p.s.forget(p)
	} else {
		p.advance()
	}
}
