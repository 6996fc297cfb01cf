package session

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// passage is a connection over which requests may go: of which epoch, and which of its connections.
type passage struct {
	epoch *epoch
	up    uint64
}

// pass waits for a passage that is newer than one that failed: in a certain epoch, or in whichever
// comes if that is nil. A session that was not connected yet is started. Errors: ctx's cause,
// [ErrClosed], [ErrExpired] if that epoch is over.
func (s *Session) pass(ctx context.Context, only *epoch, failed passage) (passage, error) {
	for {
		s.mu.Lock()
		e, gate, started := s.cur, s.gate, s.started
		switch {
		case s.closing:
			s.mu.Unlock()
			return passage{}, s.closedErr()
		case only != nil && only.over:
			s.mu.Unlock()
			return passage{}, ErrExpired
		case e != nil && e.begun && e.up && (e != failed.epoch || e.ups > failed.up):
			p := passage{e, e.ups}
			s.mu.Unlock()
			return p, context.Cause(ctx)
		}
		s.mu.Unlock()
		if !started {
			s.Start()
		}
		select {
		case <-gate.C():
		case <-ctx.Done():
			return passage{}, context.Cause(ctx)
		}
	}
}

// exhausted is a passage that no connection of its epoch is newer than.
func (p passage) exhausted() passage { return passage{p.epoch, math.MaxUint64} }

// lost says what passage to wait for after a request failed without an answer.
func (p passage) lost(err error) passage {
	if errors.Is(err, zkconn.ErrEnded) {
		return p.exhausted()
	}
	return p
}

// errAgain lets insist ask again after a pause, as an overloaded server does.
var errAgain = errors.New("to be asked again")

// anew lets insist ask again whatever a server says against it: for what must be known before
// anything else can be done. nil stays nil.
func anew(err error) error {
	if err != nil && definite(err) {
		return errAgain
	}
	return err
}

// insist asks, in one epoch, until there is an answer; what it asks must be harmless to repeat.
// Pauses grow, also between losses of the connection, since it may be this at which the server
// hangs up. The error is the server's, [ErrExpired] or [ErrClosed].
func (s *Session) insist(e *epoch, call func(c *zkconn.Conn) error) error {
	var at passage
	lost := 0
	for try := 1; ; try++ {
		var err error
		if at, err = s.pass(s.life, e, at); err != nil {
			return s.unlessClosed(err)
		}
		err = call(e.conn)
		switch {
		case errors.Is(err, zkconn.ErrThrottled), err == errAgain:
			s.pause(s.life, backoff(try))
			at = passage{}
		case err == nil || definite(err):
			return err
		default:
			at = at.lost(err)
			if errors.Is(err, zkconn.ErrNoReply) {
				lost++
				s.pauseAfterLoss(s.life, lost)
			}
		}
	}
}

// pauseAfterLoss is the pause after that many connections were lost with one request on them. The
// first is nobody's fault.
func (s *Session) pauseAfterLoss(ctx context.Context, lost int) {
	if lost > 1 {
		s.pause(ctx, backoff(min(lost, mostLossPauses)))
	}
}

const (
	mostLossPauses = 8 // pauses grow up to 1.28 s
	mostLosses     = 3 // after so many it is the request
	usualLosses    = 8 // if servers know its like, so that it may be the network
)

// losses counts the connections that went while one request was on them, each of which had answered
// another one before. Servers hang up at what they don't know and what is too large for them. Such
// a request must not take the connection from everybody else for ever. Others that are under way at
// the time must not be taken for it: so the last try is alone on its connection.
type losses struct {
	times int
	odd   int  // of these, how many times it was of a kind or size that servers may not know
	large bool // the size of the request is the likely reason of one
}

// noted counts the loss, if the error is one at which the request may be to blame.
func (n *losses) noted(err error) error {
	if errors.Is(err, zkconn.ErrCutOff) {
		n.times++
		if !errors.Is(err, zkconn.ErrCutOffUsual) {
			n.odd++
		}
		n.large = n.large || errors.Is(err, zkconn.ErrCutOffLarge)
	}
	return err
}

// tooMany: it is the request at which servers hang up.
func (n *losses) tooMany() bool { return n.odd >= mostLosses || n.times >= usualLosses }

// on is the connection for the next try.
func (n *losses) on(c *zkconn.Conn) *zkconn.Conn {
	if n.odd >= mostLosses-1 || n.times >= usualLosses-1 {
		return c.Alone()
	}
	return c
}

// reason is the error of such a request: [ErrHungUp], or [ErrTooLarge] where its size is the likely
// reason.
func (n *losses) reason(c *zkconn.Conn) error {
	if n.large {
		if err := c.Blamed(); err != nil {
			return err
		}
	}
	return ErrHungUp
}

// verdict is nil if the request may be sent. One that has lost connections is sent only when
// another one was answered on this connection; and not if it was lost too often.
func (n *losses) verdict(c *zkconn.Conn) error {
	if err := n.others(c); err != nil || !n.tooMany() {
		return err
	}
	return n.reason(c)
}

// caughtUp has the server catch up with a quorum, so that what is read next is not older than this,
// nor is what any server shows later. A sync is not enough: a leader that was deposed and does not
// know it answers it alone. What the check finds is of no interest.
func caughtUp(c *zkconn.Conn) error {
	err := c.Prove("/")
	if errors.Is(err, ErrNoNode) || errors.Is(err, ErrNoAuth) {
		return nil
	}
	return err
}

// proof is caughtUp, once for whatever was lost: it holds on later connections too.
type proof struct{ given bool }

func (p *proof) ask(c *zkconn.Conn) error {
	if p.given {
		return nil
	}
	err := caughtUp(c)
	p.given = err == nil
	return err
}

// others sees that another request is answered, where one was lost. The error is never one of the
// server's.
func (n *losses) others(c *zkconn.Conn) error {
	if n.times > 0 {
		if err := c.Sync("/"); err != nil && !definite(err) {
			return err
		}
	}
	return nil
}

// try makes a request once more, unless it was lost too often.
func (n *losses) try(c *zkconn.Conn, call func(c *zkconn.Conn) error) error {
	if err := n.verdict(c); err != nil {
		return err
	}
	return n.noted(call(n.on(c)))
}

// bounded is a request that is given up when it was lost too often, as losses has it.
func bounded(call func(c *zkconn.Conn) error) func(c *zkconn.Conn) error {
	var lost losses
	return func(c *zkconn.Conn) error { return lost.try(c, call) }
}

// ahead is the loss of something that goes ahead of a request, as the making of a parent does:
// nothing of the request itself is under way. It counts as a loss, since servers may hang up at
// that.
type ahead struct{ loss error }

func (a *ahead) Error() string { return a.loss.Error() }

// Is tells that the request was not sent, and the kind of the loss.
func (a *ahead) Is(target error) bool {
	return target == zkconn.ErrNotSent || target != zkconn.ErrNoReply && errors.Is(a.loss, target)
}

// goesAhead is the error of what goes ahead of a request.
func goesAhead(err error) error {
	if errors.Is(err, zkconn.ErrNoReply) {
		return &ahead{err}
	}
	return err
}

// unlessClosed makes the end of the session's own context an error that says so.
func (s *Session) unlessClosed(err error) error {
	if s.life.Err() != nil {
		return s.closedErr()
	}
	return err
}

// pause waits, or less if ctx ends, or the session, whose end is not to wait for it.
func (s *Session) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.end.Done():
	}
}
