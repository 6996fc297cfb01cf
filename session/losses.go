package session

import (
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/session/internal/zkconn"
)

const mostLosses = 8 // with pauses that grow up to 1.28 s

// losses counts the connections that went while one request was on them, each of which had answered
// another one before. Servers hang up at what they don't know and what is too large for them. Such
// a request must not take the connection from everybody else for ever. Others that are under way at
// the time must not be taken for it: so the last try is alone on its connection.
type losses struct{ times int }

// once makes a request, and counts the loss if the error is one at which the request may be to
// blame.
func once[T any](n *losses, c *zkconn.Conn, call func(c *zkconn.Conn) (T, error)) (T, error) {
	if n.times >= mostLosses-1 {
		c = c.Alone()
	}
	value, err := call(c)
	if errors.Is(err, zkconn.ErrCutOff) {
		n.times++
	}
	return value, err
}

// tooMany: it is the request at which servers hang up.
func (n *losses) tooMany() bool { return n.times >= mostLosses }

// verdict is nil if the request may be sent. One that has lost connections is sent only when
// another one was answered on this connection; and not if it was lost too often.
func (n *losses) verdict(c *zkconn.Conn) error {
	if n.times == 0 {
		return nil
	}
	if err := others(c); err != nil || !n.tooMany() {
		return err
	}
	return ErrHungUp
}

// others sees that another request is answered, where one was lost. The error is never one of the
// server's.
func others(c *zkconn.Conn) error {
	if err := c.Sync("/"); err != nil && !definite(err) {
		return err
	}
	return nil
}

// try makes a request once more, unless it was lost too often.
func (n *losses) try(c *zkconn.Conn, call func(c *zkconn.Conn) error) error {
	if err := n.verdict(c); err != nil {
		return err
	}
	_, err := once(n, c, func(c *zkconn.Conn) (struct{}, error) { return struct{}{}, call(c) })
	return err
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

// givenUp is the error of a read that is not repeated any more.
func (n *losses) givenUp(err error) error {
	if !errors.Is(err, zkconn.ErrNoReply) {
		return err
	}
	if n.tooMany() {
		err = ErrHungUp
	}
	return fmt.Errorf("%w: %w", ErrSuspended, err)
}
