package session

import (
	"time"

	"github.com/troupe-go/troupe/session/internal/lease"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// The keeping of trust. Everything here but the reactions of timers is called with the session's
// mutex held, so that a change of trust and its announcement are one: whoever was refused a hold
// for want of trust hears of it when trust comes back.

// stake is how much depends on trust: possessions, those who may want one at any moment, and those
// who were refused one for want of trust.
func (s *Session) stake() int { return len(s.holds) + len(s.standby) + s.refused }

// raised is called when something was added to what depends on trust.
func (s *Session) raised(now lease.Instant) {
	e := s.cur
	if e == nil || e.over {
		return
	}
	if !s.lease.Stands() || s.lease.Due(now) {
		s.ask(e, now)
	}
	s.pacing.set(now, s.lease.NextSync(now))
	s.watchOverTrust(now)
}

// ask asks for a sign of life: of the leader, where that is known to be one, else of a quorum, one
// at a time.
func (s *Session) ask(e *epoch, now lease.Instant) {
	if !e.begun || !e.up || s.lease.Enough() {
		return
	}
	if s.lease.SyncProves(now) {
		s.lease.Asked(now)
		s.tasks.run(func() { _ = e.conn.Sync("/") }) // an answer is told as Proved; for want of one, trust ends
		return
	}
	if e.proving == e.ups {
		return
	}
	s.lease.Asked(now)
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
	if s.lapse(e, now) || s.lease.Due(now) {
		s.ask(e, now)
	}
	s.pacing.set(now, s.lease.NextSync(now))
}

// watchOverTrust sees to it that the end of trust is noticed when it comes, and that its absence is
// announced when it has lasted for as long as a proof is good for.
func (s *Session) watchOverTrust(now lease.Instant) {
	if s.cur == nil || s.cur.over || !s.cur.begun {
		return
	}
	switch {
	case s.lease.Stands():
		s.waning.set(now, s.lease.Until())
	case !s.doubted:
		s.doubtAt = now.Add(s.lease.Longest())
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
	case s.lease.Stands():
		s.waning.set(now, s.lease.Until())
	case s.doubted || s.stake() == 0 && e.up:
	case now.Reached(s.doubtAt):
		s.doubt(e)
	default:
		s.waning.set(now, s.doubtAt)
	}
}

// lapse ends trust if the clocks say so, and every hold with it, which unlock finishes.
func (s *Session) lapse(e *epoch, now lease.Instant) (lapsed bool) {
	if !s.lease.Check(now) {
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
	s.pacing.set(now, now.Add(s.lease.SyncEvery())) // until it is dispelled, also if nothing depends on it any more
	s.ref.Tell(trusted{e, false})
	s.turned()
}

// onProved takes a proof of life.
func (s *Session) onProved(e *epoch, ev zkconn.Proved) {
	s.mu.Lock()
	defer s.unlock()
	if e.over || e != s.cur {
		return
	}
	out, now := s.clock.at(ev.Sent), s.clock.now()
	s.lease.Sent(out)
	lapsed := s.lapse(e, now) // trust that ran out unnoticed ends first, with all that depended on it
	gained, refused := s.lease.Proved(e.number, out, now, ev.Write)
	switch {
	case gained:
		s.refused = 0
		s.ref.Tell(trusted{e, true})
		s.waning.set(now, s.lease.Until())
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
		s.lease.Pinged(s.clock.at(sent), now)
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
func (s *Session) lookSoon(now lease.Instant) {
	s.looking.set(now, now.Add(s.lease.CheckEvery()))
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
		s.lease.Jumped(now)
		s.take(ErrUntrusted)
		s.doubt(e)
	}
	s.ask(e, now)
}
