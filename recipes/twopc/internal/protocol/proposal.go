package protocol

import "github.com/troupe-go/troupe/machine"

// proposal is one transaction at a site.
type proposal struct {
	view
	s      *Site
	entry  string // name of the znode in the inbox
	number uint64
	phase  Phase
	busy   bool // a write is in flight

	payload   []byte
	loaded    bool    // the payload was read
	noPayload bool    // it was deleted with its record; or another client deleted only the payload
	voted     Outcome // this site's vote
	polled    bool    // voted is the current vote
	voteGone  bool    // the znode of this site's vote is gone
	orphaned  bool    // its coordinator is dead
	lost      bool    // the transaction is gone
}

func (p *proposal) move(to Phase) { p.s.move(&p.phase, to) }

// reset forgets the state of the epoch. A write in flight may have been carried out.
func (p *proposal) reset() {
	p.record, p.busy, p.known, p.polled, p.orphaned, p.ballots = nil, false, false, false, false, nil
	if p.phase == Voting {
		p.move(Proposed)
	}
}

// resume reads what is not known yet or may have changed.
func (p *proposal) resume() {
	if p.lost {
		p.advance()
		return
	}
	p.poll()
	if !p.decided() {
		p.marked = true
		p.follow(p.onRecord)
	}
	if !p.loaded {
		p.fetch(p.root.Payload(p.id, p.rec.GUID), func(ev machine.Seen) {
			p.payload, p.loaded, p.noPayload = ev.Data, true, !ev.Exists
		})
	}
}

// poll reads this site's vote.
func (p *proposal) poll() {
	p.polled = false
	p.fetch(p.path(p.s.name), func(ev machine.Seen) {
		p.polled, p.voteGone = true, !ev.Exists
		if ev.Exists && ev.Stat.Version > 0 {
			p.voted = parseVote(p.s.name, ev.Data).outcome()
		}
	})
}

// fetch reads a znode, and takes the next step. Without a permission to read the site cannot work.
func (p *proposal) fetch(path string, seen func(ev machine.Seen)) {
	p.requests.read(path, func(ev machine.Seen) {
		if ev.Code == machine.Refused {
			p.s.stop(ev.Err)
			return
		}
		seen(ev)
		p.advance()
	})
}

func (p *proposal) onRecord(ev machine.Seen) {
	before := p.rec.Coordinator
	switch {
	case p.lost || p.decided():
		return
	case ev.Code == machine.Refused:
		p.s.stop(ev.Err)
		return
	case !p.read(ev):
		p.lose()
	case p.decided():
		p.stop(before)
	default:
		p.record.rearm()
		if before != p.rec.Coordinator {
			p.s.coordinators.release(before, p.number)
		}
		p.watchCoordinator()
		p.watchVotes()
	}
	p.advance()
}

// watchCoordinator watches the coordinator's presence. No coordinator begins anything before its
// presence exists, so one without a presence has died.
func (p *proposal) watchCoordinator() {
	p.orphaned = false
	var w *watched
	w = p.s.coordinators.watch(p.rec.Coordinator, p.number, func() {
		p.orphaned = w.dead
		p.advance()
	})
	if w.dead { // at the last read
		w.look()
	}
}

// watchVotes watches all votes, if the sites may decide (WithPeerDecision).
func (p *proposal) watchVotes() {
	if !p.rec.Peers || p.ballots != nil {
		return
	}
	for _, site := range p.rec.Sites {
		b := &ballot{Vote: Vote{Site: site}}
		p.ballots = append(p.ballots, b)
		b.follower = p.requests.await(p.path(site), func(ev machine.Seen) {
			if ev.Code == machine.Refused {
				b.retry()
				return
			}
			b.read(ev)
			if b.missing || b.voted && !b.Commit { // already decided, unless another client interfered
				p.look()
				return
			}
			if !b.voted {
				b.rearm()
			}
			p.advance()
		})
	}
}

// stop ends all watches.
func (p *proposal) stop(coordinator string) {
	p.view.stop()
	p.s.coordinators.release(coordinator, p.number)
}

// lose notes that the transaction is gone.
func (p *proposal) lose() {
	p.lost = true
	p.stop(p.rec.Coordinator)
}

// complete reports whether enough is known to offer the transaction to the application.
func (p *proposal) complete() bool {
	return p.lost || p.loaded && p.polled && (p.known || p.decided())
}

// advance takes the next step, if that is possible now.
func (p *proposal) advance() {
	if p.busy || p.requests.Epoch() == 0 || !p.s.presence.serving() || !p.complete() || p.phase == Left {
		return
	}
	if p.phase == Reading && p.s.unoffered[0] != p {
		return // transactions are offered in the order in which they began
	}
	if p.noPayload && !p.decided() && !p.lost && p.voted == Undecided { // without its payload the transaction cannot be carried out
		p.lose()
	}
	if p.phase == Reading || p.phase == Proposed || p.phase == InDoubt {
		p.tell()
	}
	if c, asked := p.s.votes[p.rec.GUID]; asked && !p.answer(c) {
		p.vote(c)
		return
	}
	if _, asked := p.s.acks[p.rec.GUID]; asked {
		p.acknowledge()
		return
	}
	if !p.decided() && !p.lost {
		p.terminate()
	}
}

// tell tells the application what it does not know yet.
func (p *proposal) tell() {
	if p.phase == Reading {
		p.requests.Emit(Propose{GUID: p.rec.GUID, ID: p.id, Payload: p.payload, Voted: p.voted})
		p.move(Proposed)
		if p.s.unoffered = p.s.unoffered[1:]; len(p.s.unoffered) > 0 {
			defer p.s.unoffered[0].advance()
		}
	}
	switch {
	case p.lost && p.s.acks[p.rec.GUID]: // by this site's acknowledgement from before a crash
		p.move(Lost)
	case p.lost:
		p.requests.Emit(Gone{GUID: p.rec.GUID})
		p.move(Lost)
	case p.decided():
		p.requests.Emit(Learned{GUID: p.rec.GUID, Outcome: p.rec.State, Reason: p.rec.Reason})
		p.move(Resolved)
	case p.voted == Committed:
		p.move(InDoubt)
	}
}

// terminate makes the decisions that a site may make: it aborts an undecided transaction of a dead
// coordinator, and with WithPeerDecision it commits when all have voted for it.
func (p *proposal) terminate() {
	for _, b := range p.ballots {
		if b.voted && !b.Commit && p.known {
			p.write(p.rec.decided(Aborted, b.Site, b.Reason))
			return
		}
	}
	switch {
	case p.rec.Peers && len(p.ballots) > 0 && p.agreed():
		p.write(p.rec.decided(Committed, "", ""))
	case p.orphaned:
		p.write(p.rec.decided(Aborted, "", "the coordinator died"))
	}
}

// write writes a decision.
func (p *proposal) write(rec Record) {
	p.busy = true
	marked := p.marked
	p.decide(rec, "", func(ev machine.Transacted, _ *ballot) {
		p.busy = false
		switch {
		case p.decided() || p.lost: // already seen
		case ev.Code == machine.Done:
			p.resolve(rec)
		case ev.Code == machine.Refused:
			p.s.stop(ev.Err)
			return
		default:
			if ev.Failed >= 0 && rec.State == Committed && p.marked == marked {
				p.recount()
			}
			p.look()
		}
		p.advance()
	})
}

// resolve notes the decision that this site has written.
func (p *proposal) resolve(rec Record) {
	p.rec = rec
	p.stop(rec.Coordinator)
}

// recount reads the votes again, because one of them may have changed.
func (p *proposal) recount() {
	for _, b := range p.ballots {
		b.voted = false
		b.look()
	}
}
