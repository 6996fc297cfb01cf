package session

import "time"

// The keeping of trust. Everything here but the reactions of timers is called with the session's mutex held, so that a change of trust and its announcement
// are one: whoever was refused a hold for want of trust hears of it when trust comes back.

// stake is how much depends on trust.
func (s *Session) stake() int { return len(s.ledger.all) + len(s.holds) }

// raising is called before something is added to what depends on trust.
func (s *Session) raising() {
	if s.stake() > 0 || s.cur == nil || s.cur.over {
		return
	}
	now := s.clock.now()
	every := s.trust.timeout / syncShare
	s.rouse(now)
	s.pacing.set(now, now.add(every))
	s.watchOverTrust(now)
}

// rouse is called when a request goes out of a session that was idle: if that was for long, there have been pings alone, which are rarer.
func (s *Session) rouse(out instant) {
	if s.lastOut == (instant{}) || out.mono-s.lastOut.mono > s.trust.timeout/syncShare {
		s.trust.steadyFrom(out)
	}
}

// sync asks the leader for a sign of life.
func (s *Session) sync(e *epoch, now instant) {
	s.lastOut = now
	s.tasks.run(func() { _ = e.conn.Sync("/") }) // an answer is told as Proved; for want of one, trust ends
}

// pace is the reaction to the pacing alarm: every T/6 while anything depends on trust, a sync, unless a write has gone out meanwhile.
func (s *Session) pace() {
	s.mu.Lock()
	e := s.cur
	if e == nil || e.over || s.stake() == 0 && !s.doubted {
		s.mu.Unlock()
		return
	}
	now := s.clock.now()
	every := s.trust.timeout / syncShare
	ended, lapsed := s.lapse(e, now)
	due := now.mono-s.lastOut.mono >= every || lapsed
	if due && e.begun && e.up {
		s.sync(e, now)
	}
	next := now.add(every)
	if at := s.lastOut.add(every); !now.reached(at) {
		next = at
	}
	s.pacing.set(now, next)
	s.mu.Unlock()
	finish(ended)
}

// watchOverTrust sees to it that the end of trust is noticed when it comes, and that its absence is announced when it has lasted for as long as a proof
// is good for.
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

// wane is the reaction to the waning alarm: trust ends now, network or no network, unless it was prolonged.
func (s *Session) wane() {
	s.mu.Lock()
	e := s.cur
	if e == nil || e.over || !e.begun {
		s.mu.Unlock()
		return
	}
	now := s.clock.now()
	ended, _ := s.lapse(e, now)
	switch {
	case s.trust.stands:
		s.waning.set(now, s.trust.until)
	case s.doubted || s.stake() == 0 && e.up:
	case now.reached(s.doubtAt):
		s.doubt(e)
	default:
		s.waning.set(now, s.doubtAt)
	}
	s.mu.Unlock()
	finish(ended)
}

// lapse ends trust if the clocks say so, and every hold with it. The holds are to be finished when the mutex is free.
func (s *Session) lapse(e *epoch, now instant) (ended []*Hold, lapsed bool) {
	if !s.trust.check(now) {
		return nil, false
	}
	depends := s.stake() > 0 || !e.up
	ended = s.take(ErrUntrusted)
	if depends {
		s.doubt(e)
	}
	return ended, true
}

// doubt announces the end of trust, or its want. An idle session's trust ends silently: nothing depends on it.
func (s *Session) doubt(e *epoch) {
	s.doubted = true
	now := s.clock.now()
	s.pacing.set(now, now.add(s.trust.timeout/syncShare)) // until it is dispelled, also if nothing depends on it any more
	s.ref.Tell(trusted{e, false})
	s.turned()
}

// onProved takes a proof of life.
func (s *Session) onProved(e *epoch, sent time.Time) {
	s.mu.Lock()
	if e.over || e != s.cur {
		s.mu.Unlock()
		return
	}
	out, now := s.clock.at(sent), s.clock.now()
	if s.stake() == 0 {
		s.rouse(out)
	}
	if out.mono > s.lastOut.mono {
		s.lastOut = out
	}
	ended, lapsed := s.lapse(e, now) // trust that ran out unnoticed ends first, with all that depended on it
	switch {
	case s.trust.proved(e.number, out, now):
		s.ref.Tell(trusted{e, true})
		s.waning.set(now, s.trust.until)
		if s.doubted {
			s.doubted = false
			s.turned()
		}
	case lapsed && e.begun && e.up:
		s.sync(e, now)
	}
	s.mu.Unlock()
	finish(ended)
}
