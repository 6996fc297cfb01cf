package protocol

import "github.com/troupe-go/troupe/machine"

// answer answers a vote without writing it, if nothing has to be written. It returns false if it
// has to be written.
func (p *proposal) answer(c Cast) bool {
	want := Vote{Commit: c.Commit}.outcome()
	var err error
	switch {
	case p.voted == want:
	case p.voted != Undecided:
		err = ErrVoted
	case p.lost, p.voteGone && !p.decided():
		err = ErrGone
	case p.decided():
		err = ErrDecided
	default:
		return false
	}
	p.voteDone(err)
	return true
}

func (p *proposal) voteDone(err error) {
	delete(p.s.votes, p.rec.GUID)
	p.requests.Emit(CastDone{GUID: p.rec.GUID, Err: err})
}

// vote writes the vote once, and only if the transaction is undecided. A vote to abort also writes
// the decision, in the same ZooKeeper transaction.
func (p *proposal) vote(c Cast) {
	p.busy = true
	p.move(Voting)
	vote := Vote{Site: p.s.name, Commit: c.Commit, Reason: c.Reason}
	rec := p.rec
	record := machine.Op{Do: machine.Check, Path: p.root.Tx(p.id), Version: p.stat.Version}
	if !c.Commit {
		rec = rec.decided(Aborted, p.s.name, c.Reason)
		record.Do, record.Data = machine.Set, rec.bytes()
	}
	p.requests.transact(func(ev machine.Transacted) {
		p.busy = false
		p.move(Proposed)
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
