package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// send carries out one request beside the caller, so that the caller can leave when its context
// ends; the request itself cannot be taken back.
func send[T any](ctx context.Context, q *requests, c *zkconn.Conn, call func(c *zkconn.Conn) (T, error)) (T, error) {
	if ctx.Done() == nil {
		return call(c)
	}
	var none, value T
	var err error
	var answered notify.Latch
	if !q.tasks.run(func() {
		defer answered.Close()
		err = zkconn.ErrNoReply // if it panics: whatever was sent, no answer comes of it
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

// errLeft: the caller's context ended while the request was under way.
var errLeft = errors.New("the context ended")

// readOut asks what may be asked again: by the session's [RetryPolicy] when the answer was lost.
func readOut[T any](ctx context.Context, q *requests, call func(c *zkconn.Conn) (T, error)) (T, error) {
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
			pause, again := q.retry.next(lost, time.Since(begun))
			if !again {
				return none, gone.givenUp(at.epoch.conn, err)
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

// writeOut sends what may have an effect, once. When its answer is lost it returns
// [ErrUnknownOutcome], when a read tells the truth. What goes ahead of it is asked again, until
// that was lost too often.
func writeOut[T any](ctx context.Context, q *requests, call func(c *zkconn.Conn) (T, error)) (T, error) {
	var none T
	var at connRef
	var above losses
	for {
		var err error
		if at, err = q.conn(ctx, nil, at); err != nil {
			return none, err
		}
		v, err := send(ctx, q, at.epoch.conn, func(c *zkconn.Conn) (T, error) {
			if err := above.verdict(c); err != nil {
				return none, goesAhead(err)
			}
			return once(&above, c, call)
		})
		switch {
		case err == errLeft:
			return none, fmt.Errorf("%w: %w", ErrUnknownOutcome, context.Cause(ctx))
		case errors.Is(err, zkconn.ErrNoReply):
			return none, q.settle(ctx)
		case err == nil || definite(err):
			return v, err
		}
		at = at.lost(err)
		q.pauseAfterLoss(ctx, above.times)
	}
}

// settle waits until the outcome of what was lost can be seen by reading: the lost request is not
// under way any more, and the server is up to date.
func (q *requests) settle(ctx context.Context) error {
	var at connRef
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
		case definite(err): // it says nothing of what was lost
			q.pause(ctx, backoff(try))
			at = connRef{}
		default:
			at = at.lost(err)
		}
	}
}

// ready checks what a request of the application names.
func (q *requests) ready(path string) error {
	if err := validate(path); err != nil {
		return err
	}
	return q.open()
}

// open tells that the session is not closed.
func (q *requests) open() error {
	g := q.state.lock()
	defer g.unlock()
	if g.closing {
		return q.lifetime.closedErr()
	}
	return nil
}

// fits checks a request's size.
func (q *requests) fits(size int) error {
	if size > q.most {
		return fmt.Errorf("%w: %d bytes of %d", ErrTooLarge, size, q.most)
	}
	return nil
}
