package pact

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// prop is one transaction at a site.
type prop struct {
	entry
	s      *Site
	number uint64
	phase  Phase
	busy   bool // a write is in flight

	record   *follower
	rec      Record
	version  int32
	known    bool // rec is the current record, as far as this site can know
	marked   bool // the coordinator's mark existed at the last read
	payload  []byte
	loaded   bool
	bare     bool // no payload: it was deleted with its record; or another client deleted only the payload
	voted    Outcome
	polled   bool // voted is the current vote
	voteless bool // the znode of this site's vote is gone
	ballots  []*ballot
	orphaned bool // its coordinator is dead
	lost     bool // the transaction is gone
	decided  bool
}

func (p *prop) move(to Phase) {
	if p.s.moved != nil && p.phase != to {
		p.s.moved(p.phase, to)
	}
	p.phase = to
}

// reset forgets the state of the epoch. A write in flight may have been carried out.
func (p *prop) reset() {
	p.record, p.busy, p.known, p.polled, p.orphaned, p.ballots = nil, false, false, false, false, nil
	if p.phase == Voting {
		p.move(Asked)
	}
}

// resume reads what is not known yet or may have changed.
func (p *prop) resume() {
	if p.lost {
		p.advance()
		return
	}
	p.poll()
	if !p.decided {
		p.marked = true
		p.record = p.s.desk.await(p.s.root.Tx(p.id), p.onRecord)
	}
	if !p.loaded {
		p.s.desk.read(p.s.root.Payload(p.id, p.guid), watcher{}, func(ev machine.Seen) {
			if ev.Code == machine.Refused {
				p.s.stop(ev.Err)
				return
			}
			p.payload, p.loaded, p.bare = ev.Data, true, !ev.Exists
			p.advance()
		})
	}
}

// poll reads this site's vote.
func (p *prop) poll() {
	p.polled = false
	p.s.desk.read(p.s.root.Vote(p.id, p.guid, p.s.name), watcher{}, func(ev machine.Seen) {
		if ev.Code == machine.Refused {
			p.s.stop(ev.Err)
			return
		}
		p.polled, p.voteless = true, !ev.Exists
		if ev.Exists && ev.Stat.Version > 0 {
			p.voted = Aborted
			if parseVote(p.s.name, ev.Data).Commit {
				p.voted = Committed
			}
		}
		p.advance()
	})
}

// look reads the record again before anything is concluded from it.
func (p *prop) look() {
	p.known = false
	p.record.look()
}

func (p *prop) onRecord(ev machine.Seen) {
	rec, ok := parseRecord(ev.Data)
	switch {
	case p.lost || p.decided:
		return
	case ev.Code == machine.Refused:
		p.s.stop(ev.Err)
		return
	case !ev.Exists, !ok, rec.GUID != p.guid:
		p.lost = true
		p.unfollow()
	default:
		before := p.rec.Coordinator
		p.rec, p.version, p.known = rec, ev.Stat.Version, true
		if rec.State != Undecided {
			p.decided = true
			p.unfollow()
			break
		}
		p.record.rearm()
		if before != rec.Coordinator {
			p.s.unattend(before, p)
			p.orphaned = false
		}
		p.s.attend(rec.Coordinator, p)
		p.consult()
	}
	p.advance()
}

// consult watches all votes, if the sites may decide (WithPeerDecision).
func (p *prop) consult() {
	if !p.rec.Peers || p.ballots != nil {
		return
	}
	for _, site := range p.rec.Sites {
		b := &ballot{site: site}
		p.ballots = append(p.ballots, b)
		b.follower = p.s.desk.await(p.s.root.Vote(p.id, p.guid, site), func(ev machine.Seen) {
			if ev.Code == machine.Refused {
				p.peek(b)
				return
			}
			b.refused = 0
			b.voted = ev.Exists && ev.Stat.Version > 0
			if b.voted {
				vote := parseVote(site, ev.Data)
				b.commit, b.reason, b.version = vote.Commit, vote.Reason, ev.Stat.Version
			}
			if !ev.Exists || b.voted && !b.commit { // already decided, unless another client interfered
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

// peek reads another site's vote again later, because it may not be read now.
func (p *prop) peek(b *ballot) {
	b.refused++
	p.s.desk.retry(b.refused, func() {
		if slices.Contains(p.ballots, b) {
			b.look()
		}
	})
}

func (p *prop) unfollow() {
	p.record.stop()
	for _, b := range p.ballots {
		b.stop()
	}
	p.s.unattend(p.rec.Coordinator, p)
}

// read reports whether enough is known to offer the transaction to the application.
func (p *prop) read() bool { return p.lost || p.loaded && p.polled && (p.known || p.decided) }

// advance takes the next step, if that is possible now.
func (p *prop) advance() {
	if p.busy || p.s.desk.epoch == 0 || !p.s.presence.begun || p.s.presence.leaving || !p.read() || p.phase == Left {
		return
	}
	if p.phase == Reading && p.s.unoffered[0] != p {
		return // transactions are offered in the order in which they began
	}
	if p.bare && !p.decided && !p.lost && p.voted == Undecided { // without its payload the transaction cannot be carried out
		p.lost = true
		p.unfollow()
	}
	if p.phase == Reading || p.phase == Asked || p.phase == Bound {
		p.tell()
	}
	if c, wished := p.s.casts[p.guid]; wished && !p.answer(c) {
		p.vote(c)
		return
	}
	if _, wished := p.s.acks[p.guid]; wished {
		p.leave()
		return
	}
	if !p.decided && !p.lost {
		p.finish()
	}
}

// tell tells the application what it does not know yet.
func (p *prop) tell() {
	if p.phase == Reading {
		p.s.desk.do(Offer{GUID: p.guid, ID: p.id, Payload: p.payload, Voted: p.voted})
		p.move(Asked)
		if p.s.unoffered = p.s.unoffered[1:]; len(p.s.unoffered) > 0 {
			defer p.s.unoffered[0].advance()
		}
	}
	switch {
	case p.lost && p.s.acks[p.guid]: // by this site's acknowledgement from before a crash
		p.move(Lost)
	case p.lost:
		p.s.desk.do(Vanished{GUID: p.guid})
		p.move(Lost)
	case p.decided:
		p.s.desk.do(Learned{GUID: p.guid, Outcome: p.rec.State, Reason: p.rec.Reason})
		p.move(Resolved)
	case p.voted == Committed:
		p.move(Bound)
	}
}

// finish makes the decisions that a site may make: it aborts an undecided transaction of a dead
// coordinator, and with WithPeerDecision it commits when all have voted for it.
func (p *prop) finish() {
	all := p.rec.Peers && len(p.ballots) > 0
	for _, b := range p.ballots {
		all = all && b.voted && b.commit
		if b.voted && !b.commit && p.known {
			p.decide(p.rec.decided(Aborted, b.site, b.reason))
			return
		}
	}
	switch {
	case all:
		p.decide(p.rec.decided(Committed, "", ""))
	case p.orphaned:
		p.decide(p.rec.decided(Aborted, "", "the coordinator died"))
	}
}

func (p *prop) decide(rec Record) {
	p.busy = true
	root := p.s.root
	var ops []machine.Op
	if p.marked {
		ops = append(ops, machine.Op{Do: machine.Check, Path: root.Open(p.id, p.guid), Version: machine.Any})
	}
	if rec.State == Committed {
		for _, b := range p.ballots {
			ops = append(ops, machine.Op{Do: machine.Check, Path: root.Vote(p.id, p.guid, b.site), Version: b.version})
		}
	}
	ops = append(ops, machine.Op{Do: machine.Set, Path: root.Tx(p.id), Data: rec.bytes(), Version: p.version})
	p.s.desk.transact(func(ev machine.Transacted) {
		p.busy = false
		switch {
		case p.decided || p.lost: // already seen
		case ev.Code == machine.Done:
			p.rec, p.decided = rec, true
			p.unfollow()
		case ev.Code == machine.Refused:
			p.s.stop(ev.Err)
			return
		default:
			if p.marked && ev.Failed == 0 {
				p.marked = false
			} else if ev.Failed >= 0 && rec.State == Committed {
				p.recount()
			}
			p.look()
		}
		p.advance()
	}, ops...)
}

// recount reads the votes again, because one of them has changed.
func (p *prop) recount() {
	for _, b := range p.ballots {
		b.voted = false
		b.look()
	}
}
