package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/notify"
)

// lifetime is how a session ends, step by step.
type lifetime struct {
	refuse *notify.End   // why nothing can be asked any more
	end    *notify.End   // the same, once what was held has ended
	gone   *notify.Latch // everything is torn down

	unconfirmed error // the ZooKeeper session was left to expire; set before gone
}

func newLifetime() lifetime {
	return lifetime{refuse: notify.NewEnd(), end: notify.NewEnd(), gone: notify.NewLatch()}
}

// closedErr is why nothing can be asked any more. A session that failed for good is closed too, and
// says both.
func (l *lifetime) closedErr() error {
	if err := l.refuse.Err(); err != nil && !errors.Is(err, ErrClosed) {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return ErrClosed
}

// Close ends the session: what is asked from now on is answered with [ErrClosed], every hold ends
// with it ([ErrLost] and [ErrClosed]), and so does everything that was made on the session. Then it
// closes the ZooKeeper session, so that its ephemeral znodes go at once and others take over within
// a round trip, and returns when the server has confirmed that and no goroutine is left. If the
// connection is down it waits for the next one, but no longer than the ZooKeeper session lives
// without: for its timeout from the loss of the last one on, or for a third of it if that is over.
// If a server has said that the ZooKeeper session has expired, and no quorum has confirmed that
// yet, Close waits for it likewise. If ctx ends first, or that time, the ZooKeeper session is left
// to expire, its znodes may stand until then, and Close returns the cause ([ErrSuspended]), with no
// goroutine left all the same. It is idempotent; a second call waits for the first, and returns
// what that does. A session that failed closes itself; Close waits for that likewise, but cuts it
// short when ctx ends. Of a session that is over already there is nothing to report.
func (s *Session) Close(ctx context.Context) error {
	if s.lifetime.gone.Closed() {
		return nil
	}
	if s.shut(ErrClosed, false) {
		return failed("close", "", s.tearDown(ctx))
	}
	select {
	case <-s.lifetime.gone.C():
		return failed("close", "", s.lifetime.unconfirmed)
	case <-ctx.Done():
	}
	if s.lifetime.gone.Closed() { // what is done is done, whatever became of ctx
		return failed("close", "", s.lifetime.unconfirmed)
	}
	g := s.state.lock()
	failing := g.failing
	g.unlock()
	if failing {
		s.tasks.cut()
		<-s.lifetime.gone.C() // prompt: what is left waits for nothing but this
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
		defer s.tasks.guard()
		ctx, cancel := context.WithTimeout(s.tasks.life, s.cfg.timeout)
		defer cancel()
		if err := s.tearDown(ctx); err != nil {
			s.log.Warn("the ZooKeeper session could not be closed", "error", err)
		}
	}()
}

// shut refuses everything from now on, ends what is held and says so, once.
func (s *Session) shut(cause error, failing bool) bool {
	if !s.state.close(cause, failing) {
		return false
	}
	s.lifetime.end.Set(cause)
	s.topic.Close()
	return true
}

// tearDown ends the actors, the connections and the tasks, in this order.
func (s *Session) tearDown(ctx context.Context) (err error) {
	s.scope.Stop()
	<-s.scope.Done() // prompt: nothing blocks in an actor
	g := s.state.lock()
	e := g.cur
	begun := e != nil && e.begun
	unused := e != nil && errors.Is(e.cause, ErrAuthFailed) && !e.begun
	g.unlock()
	if e != nil {
		e.end(ErrClosed, ErrClosed)
		if e.conn != nil { // also of one that was over: it may be being closed
			inTime, cancel := e.whileItLives(ctx)
			err = e.conn.Close(inTime)
			cancel()
		}
		if unused || errors.Is(err, ErrAuthRequired) && !begun {
			err = nil // nothing was ever asked in it
		}
		if err == nil {
			e.saidOver()
			err = e.confirmInTime(ctx)
		}
	}
	stop := context.AfterFunc(ctx, s.tasks.cut) // tasks are given as much time
	s.tasks.end()
	stop()
	s.tasks.cut()
	if s.cfg.system == nil {
		// Its actors have ended with the session's scope, so it is prompt, ctx or not.
		_ = s.system.Close(context.WithoutCancel(ctx))
	}
	s.lifetime.unconfirmed = err
	s.lifetime.gone.Close()
	return err
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
	<-s.lifetime.end.Done() // prompt: whoever was quicker is at it
	s.runDeferred()
	g := s.state.lock()
	clients, gone := g.inOrder(), g.cur != nil && g.cur.gone.Closed() && g.cur.unconfirmed() == nil
	g.unlock()
	for _, t := range clients {
		t.inbox.endSession(s.Err(), gone)
	}
}
