package session

// StandBy tells that the seat may want a hold at any moment, being next in line, say: while it
// does, the session keeps its trust, so that [Seat.Hold] can give one at once. That costs a sync
// every sixth of the timeout; a session in which nothing is held and nobody stands by sends none.
// Who has not stood by may be refused with [ErrUntrusted]: then trust is asked for, and comes
// within a round trip, with TrustGained. It is for one epoch; the next begins without.
func (t *Seat) StandBy(number uint64, on bool) {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	_, stands := s.standby[t]
	switch {
	case s.closing || !s.seated(t) || s.current(number) == nil || on == stands:
	case !on:
		delete(s.standby, t)
	default:
		s.standby[t] = struct{}{}
		s.raised(s.clock.now())
	}
}
