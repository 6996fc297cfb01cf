package protocol

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
)

// proposal is one transaction at a site.
type proposal struct {
	view
	s      *Site
	entry  string // name of the znode in the inbox
	number uint64
	busy   bool // a write is in flight

	offered bool  // the application has it
	told    bool  // and its outcome
	cast    *Cast // the application's vote, if it is not answered yet
	ack     *Ack  // the same of its acknowledgement

	payload  machine.Seen
	voted    Outcome // this site's vote
	polled   bool    // these two are read
	voteGone bool    // the znode of this site's vote is gone
	lost     bool    // the transaction is gone

	coordinator *following // of the coordinator's presence
	orphaned    bool       // that is gone
}

// reset forgets the state of the epoch. A write in flight may have been carried out.
func (p *proposal) reset() {
	p.view.reset()
	p.coordinator, p.busy, p.polled, p.orphaned, p.ballots = nil, false, false, false, nil
}

// resume reads what is not known yet or may have changed.
func (p *proposal) resume() {
	if !p.lost {
		if !p.polled {
			p.poll()
		}
		if p.record == nil && !p.decided() {
			p.record = p.requests.follow(follower{path: p.root.Tx(p.id), once: true}, p.s.stop, p.onRecord)
		}
	}
	p.advance()
}

// poll reads this site's vote and the payload, and takes the next step. Without a permission to
// read the site cannot work.
func (p *proposal) poll() {
	p.polled = false
	queries := []machine.Query{{Path: p.path(p.s.name)}, {Path: p.root.payload(p.id, p.rec.GUID)}}
	ask(p.requests, machine.Look{Queries: queries}, func(ev machine.Looked) {
		vote, payload := ev.Answers[0].(machine.Seen), ev.Answers[1].(machine.Seen)
		if err := errors.Join(vote.Err, payload.Err); err != nil {
			p.s.stop(err)
			return
		}
		p.polled, p.voteGone, p.payload = true, !vote.Exists, payload
		if vote.Exists && vote.Stat.Version > 0 {
			p.voted = parseVote(p.s.name, vote.Data).outcome()
		}
		p.advance()
	})
}

func (p *proposal) onRecord(ev machine.Seen) {
	switch {
	case !p.read(ev):
		p.lose()
	case p.decided():
		p.stop()
	default:
		p.record.rearm()
		p.watchCoordinator()
		if p.rec.Peers && p.ballots == nil { // the sites decide
			p.awaitVotes(p.s.stop, func(*ballot) { p.advance() })
		}
	}
	p.advance()
}

// watchCoordinator watches the coordinator's presence. No coordinator begins anything before its
// presence exists, so one without a presence has died.
func (p *proposal) watchCoordinator() {
	p.coordinator.stop()
	p.orphaned = false
	p.coordinator = p.requests.follow(follower{path: p.root.coordinator(p.rec.Coordinator), shared: true}, p.s.stop, func(ev machine.Seen) {
		p.orphaned = !ev.Exists
		p.advance()
	})
	if !p.coordinator.last.Exists && len(p.coordinator.followed) > 1 { // at the last read
		p.coordinator.look()
	}
}

// stop ends all watches.
func (p *proposal) stop() {
	p.view.stop()
	p.coordinator.stop()
}

// lose notes that the transaction is gone.
func (p *proposal) lose() {
	p.lost = true
	p.stop()
}

// advance takes the next step, if that is possible now.
func (p *proposal) advance() {
	known := p.lost || p.polled && (p.known || p.decided())
	if p.busy || p.s.presence.state != registered || !known {
		return
	}
	if !p.offered {
		if p.s.unoffered[0] != p {
			return // transactions are offered in the order in which they began
		}
		p.offer()
	}
	if !p.payload.Exists && !p.decided() && !p.lost && p.voted == Undecided { // without its payload the transaction cannot be carried out
		p.lose()
	}
	p.tell()
	switch {
	case p.cast != nil && !p.answer(*p.cast):
		p.vote(*p.cast)
	case p.ack != nil:
		p.acknowledge(*p.ack)
	case p.decided() || p.lost:
	case p.rec.Peers && p.agreed():
		p.write(p.rec.decided(Committed, "", ""))
	case p.orphaned && (!p.rec.Peers || p.counted()): // where the sites decide, all may have agreed
		p.write(p.rec.decided(Aborted, "", "the coordinator died"))
	}
}

func (p *proposal) offer() {
	p.requests.Emit(Propose{GUID: p.rec.GUID, ID: p.id, Entry: p.entry, Payload: p.payload.Data, Voted: p.voted})
	p.offered = true
	if p.s.unoffered = p.s.unoffered[1:]; len(p.s.unoffered) > 0 {
		p.s.unoffered[0].advance()
	}
}

// tell tells the application what became of the transaction, once.
func (p *proposal) tell() {
	switch {
	case p.told || !p.decided() && !p.lost:
		return
	case p.decided():
		p.requests.Emit(Learned{GUID: p.rec.GUID, Outcome: p.rec.State, Reason: p.rec.Reason})
	case p.ack == nil || !p.ack.Known: // else it is gone by this site's acknowledgement, from before a crash
		p.requests.Emit(Gone{GUID: p.rec.GUID})
	}
	p.told = true
}

// answer answers a vote without writing it, if nothing has to be written. It returns false if it
// has to be written.
func (p *proposal) answer(c Cast) bool {
	switch want := (Vote{Commit: c.Commit}).outcome(); {
	case p.voted == want:
		p.voteDone(nil)
	case p.voted != Undecided:
		p.voteDone(ErrVoted)
	case p.lost, p.voteGone && !p.decided():
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
	p.requests.Emit(CastDone{GUID: p.rec.GUID, Err: err})
}

// vote writes the vote once, and only if the transaction is undecided. A vote to abort also writes
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
	p.requests.transact(func(ev machine.Transacted) {
		p.busy = false
		switch ev.Code {
		case machine.Done:
			p.voted = vote.outcome()
			if !c.Commit {
				p.resolve(rec)
			}
		case machine.Refused:
			p.voteDone(ev.Err)
		default: // another decision came first, or the reply was lost
			p.look()
			p.poll()
		}
		p.advance()
	}, record, machine.Op{Do: machine.Set, Path: p.path(p.s.name), Data: vote.bytes(), Version: 0})
}

// write writes a decision that a site may make: it aborts an undecided transaction of a dead
// coordinator, and with WithPeerDecision it commits when all have voted for it.
func (p *proposal) write(rec Record) {
	p.busy = true
	p.decide(rec, func(ev machine.Transacted) {
		p.busy = false
		switch {
		case p.decided() || p.lost: // already seen
		case ev.Code == machine.Done:
			p.resolve(rec)
		case ev.Code == machine.Refused:
			p.s.stop(ev.Err)
			return
		}
		p.advance()
	})
}

// resolve notes the decision that this site has written.
func (p *proposal) resolve(rec Record) {
	p.rec = rec
	p.stop()
}

// acknowledge deletes the site's znodes.
func (p *proposal) acknowledge(a Ack) {
	if !p.decided() && !p.lost {
		p.acked(ErrUndecided)
		p.advance()
		return
	}
	p.busy = true
	entry := p.root.inbox(p.s.name) + "/" + p.entry
	drop := func(err error) { // those that exist
		p.requests.remove(entry, func() { p.requests.remove(p.path(p.s.name), func() { p.acked(err) }) })
	}
	switch {
	case p.decided():
		p.depart(func(code machine.Code, err error) {
			if code == machine.NoNode { // done before, and the reply was lost; or another client deleted a part
				drop(nil)
				return
			}
			p.acked(err)
			p.advance()
		}, p.path(p.s.name), entry)
	case a.Known:
		drop(nil)
	default:
		drop(ErrGone)
	}
}

// acked answers the acknowledgement. If it was refused, it can be tried again.
func (p *proposal) acked(err error) {
	p.busy, p.ack = false, nil
	p.requests.Emit(Acked{GUID: p.rec.GUID, Err: err})
	if p.lost || p.decided() && err == nil {
		p.s.forget(p)
	}
}
