package session

import (
	"time"

	"github.com/troupe-go/troupe/session/internal/link"
)

// The keeping of trust. Everything here but the reactions of timers is called with the session's
// mutex held, so that a change of trust and its announcement are one: whoever was refused a hold
// for want of trust hears of it when trust comes back.

// stake is how much depends on trust: possessions, those who may want one at any moment, and those
// who were refused one for want of trust.
func (s *Session) stake() int { return len(s.holds) + len(s.standby) + s.refused }

// raised is called when something was added to what depends on trust.
func (s *Session) raised(now instant) {
	e := s.cur
	if e == nil || e.over {
		return
	}
	if every := s.trust.timeout / syncShare; !s.trust.stands || now.mono-s.lastOut.mono >= every {
		s.ask(e, now)
	}
	s.pacing.set(now, s.nextProof(now))
	s.watchOverTrust(now)
}

// nextProof is when the next sign of life is to be asked for.
func (s *Session) nextProof(now instant) instant {
	every := s.trust.timeout / syncShare
	if at := s.lastOut.add(every); s.lastOut != (instant{}) && !now.reached(at) {
		return at
	}
	return now.add(every)
}

// ask asks for a sign of life: of the leader, where that is known to be one, else of a quorum, one
// at a time.
func (s *Session) ask(e *epoch, now instant) {
	if !e.begun || !e.up || pingsProve && s.trust.stands {
		return
	}
	if s.trust.current(now) {
		s.lastOut = now
		s.tasks.run(func() { _ = e.conn.Sync("/") }) // an answer is told as Proved; for want of one, trust ends
		return
	}
	if e.proving == e.ups {
		return
	}
	s.lastOut = now
	e.proving = e.ups
	asked := e.ups
	s.tasks.run(func() {
		_ = e.conn.Prove("/") // likewise
		s.mu.Lock()
		defer s.mu.Unlock()
		if e.proving == asked {
			e.proving = 0
		}
	})
}

// pace is the reaction to the pacing alarm: every T/6 while anything depends on trust, a sign of
// life, unless a write has gone out meanwhile.
func (s *Session) pace() {
	s.mu.Lock()
	defer s.unlock()
	e := s.cur
	if e == nil || e.over || s.stake() == 0 && !s.doubted {
		return
	}
	now := s.clock.now()
	if s.lapse(e, now) || now.mono-s.lastOut.mono >= s.trust.timeout/syncShare {
		s.ask(e, now)
	}
	s.pacing.set(now, s.nextProof(now))
}

// watchOverTrust sees to it that the end of trust is noticed when it comes, and that its absence is
// announced when it has lasted for as long as a proof is good for.
func (s *Session) watchOverTrust(now instant) {
	if s.cur == nil || s.cur.over || !s.cur.begun {
		return
	}
	switch {
	case s.trust.stands:
		s.waning.set(now, s.trust.until)
	case !s.doubted:
		s.doubtAt = now.add(s.trust.timeout - s.trust.margin)
		s.waning.set(now, s.doubtAt)
	}
}

// wane is the reaction to the waning alarm: trust ends now, network or no network, unless it was
// prolonged.
func (s *Session) wane() {
	s.mu.Lock()
	defer s.unlock()
	e := s.cur
	if e == nil || e.over || !e.begun {
		return
	}
	now := s.clock.now()
	s.lapse(e, now)
	switch {
	case s.trust.stands:
		s.waning.set(now, s.trust.until)
	case s.doubted || s.stake() == 0 && e.up:
	case now.reached(s.doubtAt):
		s.doubt(e)
	default:
		s.waning.set(now, s.doubtAt)
	}
}

// lapse ends trust if the clocks say so, and every hold with it, which unlock finishes.
func (s *Session) lapse(e *epoch, now instant) (lapsed bool) {
	if !s.trust.check(now) {
		return false
	}
	depends := s.stake() > 0
	s.take(ErrUntrusted)
	switch {
	case depends:
		s.doubt(e)
	case !e.up:
		s.watchOverTrust(now)
	}
	return true
}

// doubt announces the end of trust, or its want. An idle session's trust ends silently: nothing
// depends on it.
func (s *Session) doubt(e *epoch) {
	s.doubted = true
	now := s.clock.now()
	s.pacing.set(now, now.add(s.trust.timeout/syncShare)) // until it is dispelled, also if nothing depends on it any more
	s.ref.Tell(trusted{e, false})
	s.turned()
}

// onProved takes a proof of life.
func (s *Session) onProved(e *epoch, ev link.Proved) {
	s.mu.Lock()
	defer s.unlock()
	if e.over || e != s.cur {
		return
	}
	out, now := s.clock.at(ev.Sent), s.clock.now()
	if out.mono > s.lastOut.mono {
		s.lastOut = out
	}
	lapsed := s.lapse(e, now) // trust that ran out unnoticed ends first, with all that depended on it
	gained, refused := s.trust.proved(e.number, out, now, ev.Write)
	switch {
	case gained:
		s.refused = 0
		s.ref.Tell(trusted{e, true})
		s.waning.set(now, s.trust.until)
		if s.doubted {
			s.doubted = false
			s.turned()
		}
	case (refused || lapsed) && (s.stake() > 0 || s.doubted):
		s.ask(e, now)
	}
}

// onHeard takes the answer to a ping.
func (s *Session) onHeard(e *epoch, sent time.Time) {
	s.mu.Lock()
	defer s.unlock()
	if !e.over && e == s.cur {
		now := s.clock.now()
		s.lapse(e, now)
		s.trust.pinged(s.clock.at(sent), now)
	}
}

// look is the reaction to the looking alarm: while anything is held, the clocks are compared, since
// no timer tells of one that jumps.
func (s *Session) look() {
	s.mu.Lock()
	defer s.unlock()
	e := s.cur
	if e == nil || e.over || len(s.holds) == 0 {
		return
	}
	now := s.clock.now()
	s.lapse(e, now)
	s.lookSoon(now)
}

// lookSoon sets the looking alarm.
func (s *Session) lookSoon(now instant) {
	const least, most = 20 * time.Millisecond, 100 * time.Millisecond
	s.looking.set(now, now.add(min(max(s.trust.timeout/60, least), most)))
}

// suspect looks after a possession that was found not to be valid.
func (s *Session) suspect(h *Hold) {
	s.mu.Lock()
	defer s.unlock()
	s.doubtful(h)
}

// doubtful ends trust if the clocks say so, or said so when the possession was looked at: whoever
// was told that it is not valid must not be told otherwise later, though they may have been set
// back since. With mu held.
func (s *Session) doubtful(h *Hold) {
	e := s.cur
	if _, stands := s.holds[h]; !stands || e == nil || e.over {
		return
	}
	now := s.clock.now()
	if !s.lapse(e, now) {
		if !h.void.Load() {
			return
		}
		s.trust.jump(now)
		s.take(ErrUntrusted)
		s.doubt(e)
	}
	s.ask(e, now)
}
