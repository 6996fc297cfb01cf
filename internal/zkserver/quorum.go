package zkserver

import "time"

// quorum tells whether enough of several fronts are in touch to serve. Without a majority no client
// is served, and time stands still for the sessions; so it is while an election lasts. Under the
// new leader every session has its whole timeout, as in the real server, whose leader starts
// counting anew.
type quorum struct {
	away     bool        // no front serves: there is no majority, or an election is under way
	election *time.Timer // set while one is under way
	number   int         // of elections that were begun or broken off
}

// majority reports whether those that are in touch may elect one of them. Of two servers, one that
// is merely cut off or halted doesn't keep the other from serving: what is tried with two is what
// clients of the others see.
func (s *Server) majority() bool {
	inTouch, dead := 0, 0
	for _, f := range s.fronts {
		if f.inTouch() {
			inTouch++
		}
		if f.down {
			dead++
		}
	}
	oneOfTwo := len(s.fronts) == 2 && dead == 0 && inTouch == 1
	return inTouch > len(s.fronts)/2 || oneOfTwo
}

// elect is called whenever a front gets into touch with the others or out of it. It finds a leader
// among those that are: the one that leads stays; where there is none there is an election, which
// the one with the highest number wins, as among servers that have seen the same transactions. Who
// is out of touch doesn't hear of it, and goes on saying what it said. The caller holds the lock.
func (s *Server) elect() {
	if len(s.fronts) == 1 {
		s.lead(s.fronts[0])
		return
	}
	switch leader := s.leader(); {
	case !s.majority(): // nobody serves until there is one
		s.suspend()
		s.breakOff()
	case leader != nil && !s.quorum.away: // it stays
		s.lead(leader)
	case s.cfg.Election == 0: // another leads at once
		s.install()
	default: // nobody serves until one is elected
		s.suspend()
		s.vote()
	}
}

// leader is the one among those in touch that was elected last; nil if there is none.
func (s *Server) leader() (leader *Front) {
	for _, f := range s.fronts {
		if f.inTouch() && f.term > 0 && (leader == nil || f.term > leader.term) {
			leader = f
		}
	}
	return leader
}

// vote begins an election, unless one is under way.
func (s *Server) vote() {
	if s.quorum.election != nil {
		return
	}
	s.quorum.number++
	number := s.quorum.number
	s.quorum.election = s.after(s.cfg.Election, func() {
		if s.quorum.number == number {
			s.quorum.election = nil
			s.install()
		}
	})
}

// breakOff ends an election without a result.
func (s *Server) breakOff() {
	s.quorum.number++
	if s.quorum.election != nil {
		s.quorum.election.Stop()
		s.quorum.election = nil
	}
}

// install ends an election: the last of those in touch leads, it starts the clock of the sessions,
// and all that are in touch serve.
func (s *Server) install() {
	s.breakOff()
	var leader *Front
	for _, f := range s.fronts {
		if f.inTouch() {
			leader = f
		}
	}
	if leader == nil {
		return
	}
	s.quorum.away = false
	s.lead(leader)
	s.expiry.resume(s)
}

// suspend has those that are in touch drop their clients, in an orderly way as the real servers do,
// and forget what they have heard of them.
func (s *Server) suspend() {
	s.quorum.away = true
	s.expiry.stop()
	for _, f := range s.fronts {
		if !f.inTouch() {
			continue
		}
		f.term, f.waiting = 0, nil
		clear(f.touched)
		for c := range f.conns {
			c.finish()
		}
	}
}

// lead makes a front the one that leads: a new term begins if it did not lead before. The caller
// holds the lock.
func (s *Server) lead(leader *Front) {
	for _, f := range s.fronts {
		if f != leader && f.inTouch() {
			f.term = 0
		}
	}
	if leader.term == 0 {
		if s.terms++; s.terms > 1 && len(s.fronts) > 1 {
			s.zxid = (s.zxid>>32 + 1) << 32 // the upper half counts the leaders
		}
		leader.term, leader.elected = s.terms, time.Now()
	}
}

// suspended reports whether the front waits for a leader. One that is out of touch doesn't know
// that there is none.
func (f *Front) suspended() bool { return f.s.quorum.away && f.inTouch() }

// notServing is what a server without a leader answers to most four-letter words.
const notServing = "This ZooKeeper instance is not currently serving requests\n"

// say answers a four-letter word.
func (f *Front) say(word string) string {
	if f.suspended() && word != "ruok" {
		return notServing
	}
	return words[word](f)
}

// The front that leads says so to who asks with a four-letter word; but it is the Server that
// numbers transactions and counts the time of sessions.

// inTouch reports whether the other fronts can reach this one.
func (f *Front) inTouch() bool { return !f.down && f.isolated == nil && f.frozen == nil }

// mode is what a front says that it is.
func (f *Front) mode() string {
	switch {
	case len(f.s.fronts) == 1:
		return "standalone"
	case f.leads():
		return "leader"
	}
	return "follower"
}

func (f *Front) leads() bool { return len(f.s.fronts) > 1 && f.term > 0 }

// synced is how many fronts follow this one, which leads.
func (f *Front) synced() (n int) {
	if !f.inTouch() {
		return 0
	}
	for _, other := range f.s.fronts {
		if other != f && other.inTouch() {
			n++
		}
	}
	return n
}
