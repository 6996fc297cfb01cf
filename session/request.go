package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// sender sends requests to ZooKeeper, over the connection that there is, and repeats those that may
// be repeated.
type sender struct {
	state    *state
	tasks    *tasks
	lifetime *lifetime
	start    func()      // Session.start
	retry    RetryPolicy // of readOut
	most     int         // bytes of a request
}

// connRef refers to a connection over which requests may go: its epoch, and its number among the
// epoch's connections.
type connRef struct {
	epoch *epoch
	up    uint64
}

// conn waits for a connection that is newer than one that failed: in a certain epoch, or in any if
// that is nil. A session that was not connected yet is started. Errors: ctx's cause, with why there
// is no connection; [ErrClosed], [ErrExpired] if that epoch is over.
func (q *sender) conn(ctx context.Context, only *epoch, failed connRef) (connRef, error) {
	for {
		g := q.state.lock()
		e, gate, started := g.cur, g.gate, g.started
		switch {
		case g.closing:
			g.unlock()
			return connRef{}, q.lifetime.closedErr()
		case only != nil && only.ended:
			g.unlock()
			return connRef{}, ErrExpired
		case e != nil && e.begun && e.up && (e != failed.epoch || e.ups > failed.up):
			c := connRef{e, e.ups}
			g.unlock()
			return c, context.Cause(ctx)
		}
		g.unlock()
		if !started {
			q.start()
		}
		select {
		case <-gate.C():
		case <-ctx.Done():
			return connRef{}, q.state.because(context.Cause(ctx))
		}
	}
}

// lost is the connection that the next one has to be newer than, after a request failed without an
// answer.
func (c connRef) lost(err error) connRef {
	if errors.Is(err, zkconn.ErrEnded) {
		return connRef{c.epoch, math.MaxUint64} // no connection of the epoch is newer
	}
	return c
}

// errAgain lets insist ask again after a pause, as an overloaded server does.
var errAgain = errors.New("to be asked again")

// retried lets insist ask again after any refusal by a server: for what must be known before
// anything else can be done. nil stays nil.
func retried(err error) error {
	if err != nil && definite(err) {
		return errAgain
	}
	return err
}

// insist asks, in one epoch, until there is an answer; what it asks must be harmless to repeat.
// Pauses grow, also between losses of the connection, since it may be this at which the server
// hangs up. The error is the server's, [ErrExpired] or [ErrClosed].
func (q *sender) insist(e *epoch, call func(c *zkconn.Conn) error) error {
	var at connRef
	lost := 0
	for try := 1; ; try++ {
		var err error
		if at, err = q.conn(q.tasks.life, e, at); err != nil {
			return q.unlessClosed(err)
		}
		err = call(e.conn)
		switch {
		case errors.Is(err, zkconn.ErrThrottled), err == errAgain:
			q.pause(q.tasks.life, backoff(q.tasks.source, try))
			at = connRef{}
		case err == nil || definite(err):
			return err
		default:
			at = at.lost(err)
			if errors.Is(err, zkconn.ErrNoReply) {
				lost++
				q.pauseAfterLoss(q.tasks.life, lost)
			}
		}
	}
}

// pauseAfterLoss is the pause after that many connections were lost with one request on them. For
// the first the request is not blamed.
func (q *sender) pauseAfterLoss(ctx context.Context, lost int) {
	if lost > 1 {
		q.pause(ctx, backoff(q.tasks.source, min(lost, mostLosses)))
	}
}

// caughtUp has the server catch up with a quorum, so that what is read next is not older than this,
// nor is what any server shows later. A sync is not enough: the leader answers it alone, before it
// has carried out all that its followers have answered, and also when it was deposed and does not
// know it. The result of the check is ignored.
func caughtUp(c *zkconn.Conn, path string) error {
	err := c.Prove(path)
	if errors.Is(err, ErrNoNode) || errors.Is(err, ErrNoAuth) {
		return nil
	}
	return err
}

// proof is caughtUp, asked once after a loss: it holds on later connections too.
type proof struct{ given bool }

func (p *proof) ask(c *zkconn.Conn) error {
	if p.given {
		return nil
	}
	err := caughtUp(c, "/")
	p.given = err == nil
	return err
}

// unlessClosed makes the end of the session's own context an error that says so.
func (q *sender) unlessClosed(err error) error {
	if q.tasks.life.Err() != nil {
		return q.lifetime.closedErr()
	}
	return err
}

// pause waits until the time is over, ctx ends, or the session ends.
func (q *sender) pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	case <-q.lifetime.end.Done():
	}
}

// send carries out one request beside the caller, so that the caller can leave when its context
// ends; the request itself cannot be taken back.
func send[T any](ctx context.Context, q *sender, c *zkconn.Conn, call func(c *zkconn.Conn) (T, error)) (T, error) {
	if ctx.Done() == nil {
		return call(c)
	}
	var none, value T
	var err error
	var answered notify.Latch
	if !q.tasks.run(func() {
		defer answered.Close()
		err = zkconn.ErrNoReply // if it panics: something may have been sent, and no answer comes
		value, err = call(c)
	}) {
		return none, zkconn.ErrEnded
	}
	select {
	case <-answered.C():
		return value, err
	case <-ctx.Done():
		return none, errLeft
	}
}

// errLeft is the error of send if the caller's context ended while the request was under way.
var errLeft = errors.New("the context ended")

// readOut sends a request that may be repeated, and repeats it by the session's [RetryPolicy] when
// the answer was lost.
func readOut[T any](ctx context.Context, q *sender, call func(c *zkconn.Conn) (T, error)) (T, error) {
	var none T
	var at connRef
	var gone losses
	begun, lost := time.Now(), 0
	for {
		var err error
		if at, err = q.conn(ctx, nil, at); err != nil {
			return none, err
		}
		v, err := send(ctx, q, at.epoch.conn, func(c *zkconn.Conn) (T, error) {
			if gone.times > 0 {
				if err := others(c); err != nil {
					return none, err
				}
			}
			return once(&gone, c, call)
		})
		switch {
		case err == nil:
			return v, nil
		case err == errLeft:
			return none, context.Cause(ctx)
		case errors.Is(err, zkconn.ErrNoReply), errors.Is(err, zkconn.ErrThrottled):
			lost++
			pause, again := q.retry.next(q.tasks.source, lost, time.Since(begun))
			if !again {
				return none, gone.givenUp(err)
			}
			q.pause(ctx, pause)
			if errors.Is(err, zkconn.ErrThrottled) {
				at = connRef{}
			}
		case definite(err):
			return none, err
		default:
			at = at.lost(err)
		}
	}
}

// writeOut sends a write of that size, once. If its answer is lost it returns [ErrUnknownOutcome],
// as soon as a read tells the outcome. Requests that prepare it are repeated, until they were lost
// too often.
func writeOut[T any](ctx context.Context, q *sender, size int, call func(c *zkconn.Conn) (T, error)) (T, error) {
	var none T
	var at connRef
	var above losses // at the requests that prepare the write
	for {
		var err error
		if at, err = q.conn(ctx, nil, at); err != nil {
			return none, err
		}
		v, err := send(ctx, q, at.epoch.conn, func(c *zkconn.Conn) (T, error) {
			if err := above.verdict(c); err != nil {
				return none, inPreparation(err)
			}
			return once(&above, c, call)
		})
		switch {
		case err == errLeft:
			return none, fmt.Errorf("%w: %w", ErrUnknownOutcome, context.Cause(ctx))
		case errors.Is(err, zkconn.ErrNoReply):
			return none, q.settle(ctx, at, size, err)
		case err == nil || definite(err):
			return v, err
		}
		at = at.lost(err)
		q.pauseAfterLoss(ctx, above.times)
	}
}

// settle waits until the outcome of a lost request can be seen by reading: the lost request, of
// that size, is not under way any more, and the server is up to date.
func (q *sender) settle(ctx context.Context, at connRef, size int, err error) error {
	if errors.Is(err, zkconn.ErrCutOff) {
		at.epoch.conn.Suspect(size, at.up)
	}
	at = connRef{}
	for try := 1; ; try++ {
		var err error
		if at, err = q.conn(ctx, nil, at); err != nil {
			return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
		}
		_, err = send(ctx, q, at.epoch.conn, func(c *zkconn.Conn) (struct{}, error) { return struct{}{}, caughtUp(c, "/") })
		switch {
		case err == nil:
			return ErrUnknownOutcome
		case err == errLeft:
			return fmt.Errorf("%w: %w", ErrUnknownOutcome, context.Cause(ctx))
		case definite(err): // it says nothing of the lost request
			q.pause(ctx, backoff(q.tasks.source, try))
			at = connRef{}
		default:
			at = at.lost(err)
		}
	}
}

const mostLosses = 8 // with pauses that grow up to 1.28 s

// losses counts the connections that were lost while one request was on them, after they had
// answered another one. Servers hang up at requests that they don't know or that are too large for
// them. Such a request must not take the connection from all others for ever. Others that are under
// way at the time must not be blamed: so the last try is alone on its connection.
type losses struct{ times int }

// once makes a request, and counts a loss for which the request may be to blame. The last try has
// the connection to itself.
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

// tooMany tells that the request is the one at which servers hang up.
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

// others makes sure that another request is answered, after one was lost. The error is never one of
// the server's.
func others(c *zkconn.Conn) error {
	if err := c.Sync("/"); err != nil && !definite(err) {
		return err
	}
	return nil
}

// try makes a request, unless it was lost too often.
func (n *losses) try(c *zkconn.Conn, call func(c *zkconn.Conn) error) error {
	if err := n.verdict(c); err != nil {
		return err
	}
	_, err := once(n, c, func(c *zkconn.Conn) (struct{}, error) { return struct{}{}, call(c) })
	return err
}

// bounded is a request that is given up when it was lost too often: see losses.
func bounded(call func(c *zkconn.Conn) error) func(c *zkconn.Conn) error {
	var lost losses
	return func(c *zkconn.Conn) error { return lost.try(c, call) }
}

// preparationError is the loss of a request that prepares another, as the create of a parent does:
// nothing of the other one is under way. It counts as a loss, since servers may hang up at it.
type preparationError struct{ loss error }

func (e *preparationError) Error() string { return e.loss.Error() }

// Is tells that the other request was not sent (ErrNotSent, not ErrNoReply), and the kind of the
// loss.
func (e *preparationError) Is(target error) bool {
	return target == zkconn.ErrNotSent || target != zkconn.ErrNoReply && errors.Is(e.loss, target)
}

// inPreparation is the error of a request that prepares another.
func inPreparation(err error) error {
	if errors.Is(err, zkconn.ErrNoReply) {
		return &preparationError{err}
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
