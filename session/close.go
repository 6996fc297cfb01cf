package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/actors"
)

// Close ends the session: what is asked from now on is answered with [ErrClosed], every hold ends
// with it ([ErrLost] and [ErrClosed]), and so does everything that was made on the session. Then it
// closes the ZooKeeper session, so that its ephemeral znodes go at once and others take over within
// a round trip, and returns when the server has confirmed that and no goroutine is left. If the
// connection is down it waits for the next one, but no longer than the ZooKeeper session lives
// without: for its timeout from the loss of the last one on, or for a third of it if that is over.
// If ctx ends first, or that time, the ZooKeeper session is left to expire, and Close returns the
// cause ([ErrSuspended]), with no goroutine left all the same. It is idempotent; a second call
// waits for the first, and returns what that does. A session that failed closes itself; Close waits
// for that likewise, but cuts it short when ctx ends. Of a session that is over already there is
// nothing to report.
func (s *Session) Close(ctx context.Context) error {
	if s.gone.Closed() {
		return nil
	}
	if s.shut(ErrClosed, false) {
		return failed("close", "", s.tearDown(ctx))
	}
	select {
	case <-s.gone.C():
		return failed("close", "", s.unconfirmed)
	case <-ctx.Done():
	}
	if s.gone.Closed() { // what is done is done, whatever became of ctx
		return failed("close", "", s.unconfirmed)
	}
	s.mu.Lock()
	failing := s.failing
	s.mu.Unlock()
	if failing {
		s.cut()
		<-s.gone.C() // prompt: what is left waits for nothing but this
	}
	return failed("close", "", context.Cause(ctx))
}

// fail ends the session for good, from within.
func (s *Session) fail(cause error) {
	if !s.shut(cause, true) {
		return
	}
	s.log.Error("the session is over", "cause", cause)
	go func() { // owned by the session, which closes gone at its end; bounded by the session's timeout
		defer s.guard()
		ctx, cancel := context.WithTimeout(s.life, s.cfg.timeout)
		defer cancel()
		if err := s.tearDown(ctx); err != nil {
			s.log.Warn("the ZooKeeper session could not be closed", "error", err)
		}
	}()
}

// shut refuses everything from now on, ends what is held and says so, once.
func (s *Session) shut(cause error, failing bool) bool {
	if !s.refuseAll(cause, failing) {
		return false
	}
	s.end.Set(cause)
	s.topic.Close()
	return true
}

func (s *Session) refuseAll(cause error, failing bool) (first bool) {
	s.mu.Lock()
	defer s.unlock()
	if s.closing {
		return false
	}
	s.closing, s.failing = true, failing
	s.refuse.Set(cause) // before the waiters wake, who ask for it
	s.take(ErrClosed)
	s.pacing.stop()
	s.waning.stop()
	s.looking.stop()
	s.turned()
	return true
}

// tearDown ends the actors, the connections and the tasks, in this order.
func (s *Session) tearDown(ctx context.Context) (err error) {
	s.scope.Stop()
	<-s.scope.Done() // prompt: nothing blocks in an actor
	s.mu.Lock()
	e := s.cur
	begun := e != nil && e.begun
	unused := e != nil && errors.Is(e.cause, ErrAuthFailed) && !e.begun
	s.mu.Unlock()
	if e != nil {
		s.over(e, ErrClosed, ErrClosed)
		if e.conn != nil { // also of one that was over: its farewell may be under way
			inTime, cancel := s.whileItLives(ctx, e)
			err = e.conn.Close(inTime)
			cancel()
		}
		if unused || errors.Is(err, ErrAuthRequired) && !begun {
			err = nil // nothing was ever asked in it
		}
		if err == nil {
			e.gone.Close()
		}
	}
	stop := context.AfterFunc(ctx, s.cut) // tasks are given as much time
	s.tasks.end()
	stop()
	s.cut()
	if s.cfg.system == nil {
		// Its actors have ended with the session's scope, so it is prompt, ctx or not.
		_ = s.system.Close(context.WithoutCancel(ctx))
	}
	s.unconfirmed = err
	s.gone.Close()
	return err
}

// lastTry is the share of the timeout that is left for the closing of a ZooKeeper session which may
// have ended already.
const lastTry = 3

// whileItLives bounds the wait for a connection over which to close the ZooKeeper session by how
// long that lives without one: for its timeout, from the loss of the last one on.
func (s *Session) whileItLives(ctx context.Context, e *epoch) (context.Context, context.CancelFunc) {
	s.mu.Lock()
	timeout, lost := e.timeout, e.lost
	s.mu.Unlock()
	if timeout == 0 {
		timeout = s.cfg.timeout
	}
	now := time.Now()
	until := now.Add(timeout)
	if !lost.IsZero() {
		until = lost.Add(timeout)
	}
	if least := now.Add(timeout / lastTry); until.Before(least) {
		until = least
	}
	return context.WithDeadlineCause(ctx, until, fmt.Errorf("%w, for as long as the session lives without (%v)", ErrSuspended, timeout))
}

// actorEnded: the session's own actor is gone: with the session, with the system that it lives in,
// or because it was given up.
func (s *Session) actorEnded(cause error) {
	switch {
	case errors.Is(cause, actors.ErrGivenUp):
		s.fail(cause)
	default:
		s.fail(ErrClosed) // nothing, if it was Close
	}
	<-s.end.Done() // prompt: whoever was quicker is at it
	s.runDeferred()
	s.mu.Lock()
	seats, gone := s.members(), s.cur != nil && s.cur.gone.Closed()
	s.mu.Unlock()
	for _, t := range seats {
		t.inbox.endSession(s.Err(), gone)
	}
}
