package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// outage adds to an error, which may be nil, why the epoch has no connection; if it has one, that
// is the error. Also of an epoch that is being closed.
func (e *epoch) outage(err error) error {
	if e == nil || e.conn == nil || errors.Is(err, zkconn.ErrDown) {
		return err
	}
	switch down := e.conn.Outage(); {
	case down == nil:
		return err
	case err == nil:
		return down
	default:
		return fmt.Errorf("%w: %w", down, err)
	}
}

// outage is that of the present epoch, while a connection is looked for.
func (g *guarded) outage(err error) error {
	if g.cur == nil || g.cur.over || g.closing {
		return err
	}
	return g.cur.outage(err)
}

// because adds to the end of a wait why there is no connection, if there is none.
func (s *state) because(err error) error {
	g := s.lock()
	defer g.unlock()
	return g.outage(err)
}

// failed is seam.Failed: what a recipe waited for may have ended with its context.
func (s *Session) failed(op, path string, err error) error {
	if s == nil {
		return new(namespace).failed(op, path, err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = s.state.because(err)
	}
	return s.space.failed(op, path, err)
}

// waits logs at once that the close of the ZooKeeper session has to wait for a connection, and for
// how long at most, if that is long; ctx is that of the caller. It returns the epoch; nil if there
// is no such wait.
func (s *Session) waits(ctx context.Context) *epoch {
	g := s.state.lock()
	e, down := g.cur, g.outage(nil)
	none := down == nil || e.sessionID == 0 || errors.Is(down, ErrAuthRequired) // of which nothing is awaited
	g.unlock()
	if none {
		return nil
	}
	inTime, cancel := e.whileItLives()
	defer cancel()
	until, _ := inTime.Deadline()
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	if left := time.Until(until); left >= time.Second {
		s.log.Warn("waiting for a connection, to close the ZooKeeper session", "up_to", round(left), "cause", down)
	}
	return e
}
