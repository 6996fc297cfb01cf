package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/session/internal/lease"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// epoch is one ZooKeeper session, from the opening of its connection until it is over. Its fields
// are guarded by the session's mutex.
type epoch struct {
	number uint64
	conn   *zkconn.Conn // set before it has begun

	sessionID int64
	timeout   time.Duration
	server    string // "" while the connection is down
	address   string // likewise

	begun   bool      // authenticated, and the first sync is answered: requests may go
	up      bool      // there is a connection
	lost    time.Time // when the last one was lost; zero: there is one, or was none
	ups     uint64    // how many there have been
	proving uint64    // on which of them a quorum was asked for a sign of life that has not come; 0: on none
	over    bool
	cause   error         // why it is over
	gone    *notify.Latch // ZooKeeper is known to have ended its session, and with it every ephemeral znode: it has said so, or there was none

	reads map[*watchRead]struct{} // reads with a watch that were not answered yet
}

func newEpoch(number uint64) *epoch {
	return &epoch{number: number, gone: notify.NewLatch(), reads: make(map[*watchRead]struct{})}
}

// hear takes what the connection says, in its order. It decides at once what must not wait, and
// passes everything on to the actor.
func (s *Session) hear(e *epoch, ev zkconn.Event) {
	defer s.guard()
	switch ev := ev.(type) {
	case zkconn.Up:
		s.onUp(e, ev)
	case zkconn.Down:
		s.onDown(e)
	case zkconn.Ended:
		cause := endCause(ev.Cause)
		s.over(e, cause, ofHolds(cause))
	case zkconn.Proved:
		s.onProved(e, ev)
		return
	case zkconn.Heard:
		s.onHeard(e, ev.Sent)
		return
	}
	s.ref.Tell(connEvent{e, ev})
}

func (s *Session) onUp(e *epoch, ev zkconn.Up) {
	if spoilt, margin := s.connected(e, ev); spoilt {
		s.log.Error("the negotiated timeout leaves nothing of trust: nothing can be held", "timeout", ev.Timeout, "margin", margin)
	}
}

func (s *Session) connected(e *epoch, ev zkconn.Up) (spoilt bool, margin time.Duration) {
	s.mu.Lock()
	defer s.unlock()
	if e.over {
		return false, 0
	}
	now := s.clock.now()
	spoilt = s.retime(e, ev.Timeout, now)
	s.lease.Connected(s.clock.at(ev.Asked), ev.Created, now)
	e.timeout, e.server, e.address = ev.Timeout, ev.Server, ev.Address
	if e.sessionID != ev.SessionID { // once: requests of the epoch, which begin after it, read it without the mutex
		e.sessionID = ev.SessionID
	}
	e.up, e.lost = true, time.Time{}
	e.ups++
	if s.stake() > 0 || s.doubted {
		s.ask(e, now)
	}
	s.turned()
	return spoilt, s.lease.Margin()
}

// retime reckons with the timeout that was negotiated. After a reconnection to a server that is
// configured otherwise, possessions last as long as the shorter of the two allows. spoilt: it
// leaves nothing. With mu held.
func (s *Session) retime(e *epoch, timeout time.Duration, now lease.Instant) (spoilt bool) {
	switch {
	case e.ups == 0:
		s.lease.Begin(timeout, now)
	case e.timeout == timeout:
		return false
	default:
		s.lease.Retime(timeout)
		s.lapse(e, now)
		s.watchOverTrust(now)
	}
	return s.lease.Margin() >= timeout
}

func (s *Session) onDown(e *epoch) {
	s.mu.Lock()
	defer s.unlock()
	if e.over {
		return
	}
	e.up, e.server, e.address, e.lost = false, "", "", time.Now()
	if s.cfg.strict {
		s.take(ErrSuspended)
	}
	s.watchOverTrust(s.clock.now())
	s.turned()
}

// over ends an epoch, once: its holds end with the cause given for them, its znodes are forgotten,
// nothing is asked any more in it.
func (s *Session) over(e *epoch, cause, holds error) bool {
	reads, first := s.bury(e, cause, holds)
	for r := range reads {
		r.refuse(ErrExpired)
	}
	return first
}

func (s *Session) bury(e *epoch, cause, holds error) (reads map[*watchRead]struct{}, first bool) {
	s.mu.Lock()
	defer s.unlock()
	if e.over {
		return nil, false
	}
	e.over, e.up, e.server, e.address, e.cause = true, false, "", "", cause
	if errors.Is(cause, ErrExpired) {
		e.gone.Close()
	}
	s.take(holds)
	s.lease.End()
	s.doubted, s.refused = false, 0
	clear(s.standby)
	s.ledger.clear()
	s.pacing.stop()
	s.waning.stop()
	s.looking.stop()
	reads = e.reads
	e.reads = nil
	s.turned()
	return reads, true
}

// ofHolds is what the holds of an epoch end with that its connection says is over. A refused
// credential ends the session, and nobody says that their znodes are gone.
func ofHolds(cause error) error {
	if errors.Is(cause, ErrExpired) {
		return ErrExpired
	}
	return fmt.Errorf("%w: %w", ErrClosed, cause)
}

// retire closes the connection of an epoch that is over, in the background. If ZooKeeper has not
// said that its session is over, it is told so, as soon as it can be reached, so that the znodes go
// at once.
func (s *Session) retire(e *epoch) {
	s.mu.Lock()
	conn := e.conn
	s.mu.Unlock()
	if conn == nil {
		e.gone.Close()
		return
	}
	if !s.tasks.run(func() { s.farewell(e) }) {
		conn.Abandon()
	}
}

// farewell closes a connection for good, and ends its ZooKeeper session. That takes as long as it
// takes, or as the session lives: nothing else may begin before (see steward.takeOver), and nobody
// else would ever know when its znodes are gone.
func (s *Session) farewell(e *epoch) {
	if err := e.conn.Close(s.life); err != nil {
		s.log.Warn("a ZooKeeper session could not be closed", "epoch", e.number, "error", err)
		return
	}
	e.gone.Close()
}

// buried waits until ZooKeeper is known to have ended an epoch that is over: nil, or [ErrClosed] if
// the session is closed before that is known.
func (s *Session) buried(e *epoch) error {
	select {
	case <-e.gone.C():
	case <-s.end.Done():
		if !e.gone.Closed() {
			return s.closedErr()
		}
	}
	return nil
}
