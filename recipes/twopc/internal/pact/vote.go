package pact

import "github.com/troupe-go/troupe/machine"

// answer answers a vote without writing it, if nothing has to be written. It returns false if it
// has to be written.
func (p *prop) answer(c Cast) bool {
	want := Aborted
	if c.Commit {
		want = Committed
	}
	var err error
	switch {
	case p.voted == want:
	case p.voted != Undecided:
		err = ErrVoted
	case p.lost, p.voteless && !p.decided:
		err = ErrGone
	case p.decided:
		err = ErrDecided
	default:
		return false
	}
	p.voteDone(err)
	return true
}

func (p *prop) voteDone(err error) {
	delete(p.s.casts, p.guid)
	p.s.desk.do(CastDone{GUID: p.guid, Err: err})
}

// vote writes the vote once, and only if the transaction is undecided. A vote to abort also writes
// the decision, in the same ZooKeeper transaction.
func (p *prop) vote(c Cast) {
	p.busy = true
	p.move(Voting)
	root := p.s.root
	vote := Vote{Site: p.s.name, Commit: c.Commit, Reason: c.Reason}
	set := machine.Op{Do: machine.Set, Path: root.Vote(p.id, p.guid, p.s.name), Data: vote.bytes(), Version: 0}
	rec := p.rec
	ops := []machine.Op{{Do: machine.Check, Path: root.Tx(p.id), Version: p.version}, set}
	if !c.Commit {
		rec = rec.decided(Aborted, p.s.name, c.Reason)
		ops = []machine.Op{{Do: machine.Set, Path: root.Tx(p.id), Data: rec.bytes(), Version: p.version}, set}
	}
	p.s.desk.transact(func(ev machine.Transacted) {
		p.busy = false
		p.move(Asked)
		switch ev.Code {
		case machine.Done:
			p.voted = Committed
			if !c.Commit {
				p.voted, p.rec, p.decided = Aborted, rec, true
				p.unfollow()
			}
		case machine.Refused:
			p.voteDone(ev.Err)
		default: // another decision came first, or the reply was lost
			p.look()
			p.poll()
		}
		p.advance()
	}, ops...)
}
