package session

import (
	"time"

	"github.com/troupe-go/troupe/session/internal/link"
)

// epoch is one ZooKeeper session, from the opening of its connection until it is over. Its fields are guarded by the session's mutex.
type epoch struct {
	number uint64
	conn   *link.Conn // set before it has begun

	sessionID int64
	timeout   time.Duration
	server    string // "" while the connection is down

	begun bool   // authenticated, and the first sync is answered: requests may go
	up    bool   // there is a connection
	ups   uint64 // how many there have been
	over  bool
	cause error // why it is over

	asks map[*ask]struct{} // reads with a watch that were not answered yet
}

// hear takes what the connection says, in its order. It decides at once what must not wait, and passes everything on to the actor.
func (s *Session) hear(e *epoch, ev link.Event) {
	switch ev := ev.(type) {
	case link.Up:
		s.onUp(e, ev)
	case link.Down:
		s.onDown(e)
	case link.Ended:
		s.over(e, endCause(ev.Cause), ErrExpired)
	case link.Proved:
		s.onProved(e, ev.Sent)
		return
	}
	s.ref.Tell(told{e, ev})
}

func (s *Session) onUp(e *epoch, ev link.Up) {
	s.mu.Lock()
	if e.over {
		s.mu.Unlock()
		return
	}
	now := s.clock.now()
	var ended []*Hold
	if e.ups == 0 || e.timeout != ev.Timeout {
		ended = s.retime(e, ev.Timeout, now)
	}
	s.trust.steady = now.mono
	e.timeout, e.server = ev.Timeout, ev.Server
	if e.sessionID != ev.SessionID { // once: requests of the epoch, which begin after it, read it without the mutex
		e.sessionID = ev.SessionID
	}
	e.up = true
	e.ups++
	if e.begun && (s.stake() > 0 || s.doubted) {
		s.sync(e, now)
	}
	s.turned()
	s.mu.Unlock()
	finish(ended)
}

// retime begins trust by the timeout that was negotiated. Another one after a reconnection, to a server that is configured otherwise, ends what rested on
// the old one. With mu held.
func (s *Session) retime(e *epoch, timeout time.Duration, now instant) (ended []*Hold) {
	if s.trust.stands {
		s.trust.drop()
		ended = s.take(ErrUntrusted)
		s.doubt(e)
	}
	s.trust.begin(&s.cfg, timeout, now)
	if s.trust.margin >= timeout {
		s.log.Error("the negotiated timeout leaves nothing of trust: nothing can be held", "timeout", timeout, "margin", s.trust.margin)
	}
	return ended
}

func (s *Session) onDown(e *epoch) {
	s.mu.Lock()
	if e.over {
		s.mu.Unlock()
		return
	}
	e.up, e.server = false, ""
	var ended []*Hold
	if s.cfg.strict {
		ended = s.take(ErrSuspended)
	}
	s.watchOverTrust(s.clock.now())
	s.turned()
	s.mu.Unlock()
	finish(ended)
}

// over ends an epoch, once: its holds end with the cause given for them, its znodes are forgotten, nothing is asked any more in it.
func (s *Session) over(e *epoch, cause, holds error) bool {
	s.mu.Lock()
	if e.over {
		s.mu.Unlock()
		return false
	}
	e.over, e.up, e.server, e.cause = true, false, "", cause
	ended := s.take(holds)
	s.trust.drop()
	s.trust.until = instant{}
	s.doubted = false
	s.ledger.clear()
	s.pacing.stop()
	s.waning.stop()
	asks := e.asks
	e.asks = nil
	s.turned()
	s.mu.Unlock()
	finish(ended)
	for a := range asks {
		a.refuse(ErrExpired)
	}
	return true
}

// retire closes the connection of an epoch that is over, in the background: if it can still be reached, ZooKeeper is told that the session is over,
// so that its znodes go at once.
func (s *Session) retire(e *epoch) {
	s.mu.Lock()
	conn, patience := e.conn, max(e.timeout, s.cfg.timeout)
	s.mu.Unlock()
	if conn == nil {
		return
	}
	if !s.tasks.run(func() { s.farewell(conn, patience) }) {
		conn.Abandon()
	}
}
