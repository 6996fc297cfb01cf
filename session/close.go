package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/logs"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// lifetime is how a session ends, step by step.
type lifetime struct {
	refuse notify.End   // why nothing can be asked any more
	end    notify.End   // the same, once what was held has ended
	gone   notify.Latch // everything is torn down

	unconfirmed error       // the ZooKeeper session was left to expire; set before gone
	unheard     atomic.Bool // a caller of Close has left before that was known: it is logged
}

// closedErr is why nothing can be asked any more. A session that failed for good is closed too, and
// says both.
func (l *lifetime) closedErr() error {
	if err := l.refuse.Err(); err != nil && !errors.Is(err, ErrClosed) {
		return fmt.Errorf("the session is %w: %w", ErrClosed, err)
	}
	return fmt.Errorf("the session is %w", ErrClosed)
}

// Close ends the session. From now on requests fail with [ErrClosed], every hold ends ([ErrLost]
// and [ErrClosed]), and so does everything that was made on the session. Then Close closes the
// ZooKeeper session, so that its ephemeral znodes are deleted at once and others take over within a
// round trip, and returns when the server has confirmed that and no goroutine is left. If the
// connection is down, Close waits for the next one, but no longer than the ZooKeeper session lives
// without one: for its timeout, counted from the loss of the connection, or for a third of it if
// that time is over. If a server has said that the ZooKeeper session has expired, and no quorum has
// confirmed that yet, Close waits for the confirmation in the same way. After that time the
// ZooKeeper session is left to expire, its znodes may exist until then, and Close returns the cause
// ([ErrSuspended]).
//
// ctx bounds the wait, not the work. If ctx ends first, or has ended, Close returns its cause, and
// the rest goes on in the background, within the same time. A request over a connection that is up
// has been sent by then, unless the network accepts nothing for a tenth of a second: the process
// may end.
//
// Close is idempotent. A further call, also after one that returned early, waits for the first one
// to end, and returns its result; so does a call on a session that failed, which closes itself. On
// a session that is over already, Close returns nil.
func (s *Session) Close(ctx context.Context) error {
	defer logs.Wait(s.log)
	if s.lifetime.gone.Closed() {
		return nil
	}
	e := s.warnOfWait(ctx)
	s.finish(ErrClosed, false)
	select {
	case <-s.lifetime.gone.C():
	case <-ctx.Done():
		awaitAsked(s)
	}
	err := context.Cause(ctx)
	if s.lifetime.gone.Closed() { // it is done, whether ctx has ended or not
		if err = s.lifetime.unconfirmed; err == nil {
			return nil
		}
	} else {
		s.lifetime.unheard.Store(true)
	}
	return s.space.failed("close", "", e.outage(err))
}

// Closer is a session, or a handle that was made on one: a lock, an election, a consumer.
type Closer interface {
	Close(ctx context.Context) error
}

// CloseWithin closes c, and waits for at most d, for callers whose context has ended by then:
//
//	defer session.CloseWithin(sess, 5*time.Second)
//
// Errors are those of the Close of c; [context.DeadlineExceeded] if d has passed. If c is nil there
// is nothing to close.
func CloseWithin(c Closer, d time.Duration) error {
	if s, is := c.(*Session); c == nil || is && s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), d, fmt.Errorf("not closed within %v: %w", d, context.DeadlineExceeded)) // nothing of the caller's bounds it
	defer cancel()
	return c.Close(ctx)
}

// warnOfWait logs at once that the close of the ZooKeeper session has to wait for a connection, and
// for how long at most, if that is long; ctx is the caller's. It returns the epoch, or nil if there
// is no such wait.
func (s *Session) warnOfWait(ctx context.Context) *epoch {
	g := s.state.lock()
	e, down := g.cur, g.outage(nil)
	none := down == nil || e.sessionID == 0 || errors.Is(down, ErrAuthRequired) // nothing is awaited
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

// sending is how long a frame may take to be written when the caller of Close has no time left.
const sending = 100 * time.Millisecond

// awaitAsked waits until the server has been asked to close the ZooKeeper session, if it can be.
func awaitAsked(s *Session) {
	g := s.state.lock()
	e := g.cur
	g.unlock()
	if e == nil || e.conn == nil {
		return
	}
	select {
	case <-e.conn.Asked():
	case <-s.lifetime.gone.C():
	case <-time.After(sending):
	}
}

// fail ends the session for good, from within.
func (s *Session) fail(cause error) {
	if s.finish(cause, true) {
		s.log.Error("the session is over", "cause", cause)
	}
}

// finish refuses everything from now on, ends what is held and says so, and ends the rest in the
// background, once; false if that has begun before. alone: no caller waits for it.
func (s *Session) finish(cause error, alone bool) bool {
	if !s.state.close(cause) {
		return false
	}
	s.lifetime.end.Set(cause)
	s.topic.Close()
	go func() { // owned by the session, which closes gone at its end; bounded by the session's timeout
		defer s.lifetime.gone.Close()
		defer s.tasks.catch()
		err := s.tearDown()
		s.lifetime.unconfirmed = err
		if err != nil && (alone || s.lifetime.unheard.Load()) {
			s.log.Warn("the ZooKeeper session could not be closed", "error", err)
		}
		s.events.add(Event{Kind: EventClosed, Err: cause})
		s.events.close()
	}()
	return true
}

// tearDown ends the actors, the connections and the tasks, in this order.
func (s *Session) tearDown() (err error) {
	s.scope.Stop()
	select {
	case <-s.scope.Done(): // prompt: nothing of ours blocks in an actor
	case <-time.After(time.Second):
		s.log.Warn("an actor does not end, since a function of the application's does not return; nothing waits for it", "actors", s.system.Tree())
	}
	g := s.state.lock()
	e := g.cur
	begun := e != nil && e.begun
	unused := e != nil && errors.Is(e.cause, ErrAuthFailed) && !e.begun
	g.unlock()
	if e != nil {
		e.end(ErrClosed, ErrClosed)
		if e.conn != nil { // also of one that was over: it may be being closed
			inTime, cancel := e.whileItLives()
			err = e.conn.Close(inTime)
			cancel()
		}
		if unused || errors.Is(err, ErrAuthRequired) && !begun {
			err = nil // nothing was ever asked in it
		}
		if err == nil {
			e.saidOver()
			err = e.confirmInTime()
		}
	}
	s.tasks.end()
	s.tasks.cut()
	s.file.close(err == nil)
	if s.cfg.system == nil {
		s.system.Scope().Stop() // its actors have ended with the session's scope, or are not waited for
	}
	return err
}

// actorEnded: the session's own actor is gone: with the session, with the system that it lives in,
// or because it was given up.
func (s *Session) actorEnded(cause error) {
	if !errors.Is(cause, actors.ErrGivenUp) {
		cause = ErrClosed
	}
	s.fail(cause)           // nothing, if it was Close
	<-s.lifetime.end.Done() // prompt: another goroutine is ending it
	s.runDeferred()
	g := s.state.lock()
	clients, gone := g.inOrder(), g.cur != nil && g.cur.gone.Closed() && g.cur.unconfirmed() == nil
	g.unlock()
	for _, t := range clients {
		t.endSession(s.Err(), gone)
	}
}

// retire closes the connection of an epoch that is over, in the background. If ZooKeeper has not
// said that its session is over, it is told so, as soon as it can be reached, so that the znodes go
// at once.
func (e *epoch) retire() {
	s := e.session
	g := s.state.lock()
	conn := e.conn
	g.unlock()
	if conn == nil {
		e.saidOver()
		return
	}
	if !s.tasks.run(e.closeSession) {
		conn.Abandon()
	}
}

// closeSession closes the connection for good, and ends its ZooKeeper session. It waits as long as
// the session lives: nothing else may begin before (see sessionActor.takeOver), and only this tells
// when its znodes are gone.
func (e *epoch) closeSession() {
	s := e.session
	if err := e.conn.Close(s.tasks.life); err != nil {
		s.log.Warn("a ZooKeeper session could not be closed", e.about("error", err)...)
		return
	}
	e.saidOver()
}

// lastTry is the share of the timeout that is left for the closing of a ZooKeeper session which may
// have ended already.
const lastTry = 3

// whileItLives bounds the wait for a connection over which to close the ZooKeeper session by how
// long that lives without one: for its timeout, from the loss of the last one on.
func (e *epoch) whileItLives() (context.Context, context.CancelFunc) {
	g := e.session.state.lock()
	timeout, lost := e.timeout, e.lost
	g.unlock()
	if timeout == 0 {
		timeout = e.session.cfg.timeout
	}
	now := time.Now()
	until := now.Add(timeout)
	if !lost.IsZero() {
		until = lost.Add(timeout)
	}
	if least := now.Add(timeout / lastTry); until.Before(least) {
		until = least
	}
	return context.WithDeadlineCause(e.session.tasks.life, until, fmt.Errorf("%w, for as long as the session lives without (%v)", ErrSuspended, timeout))
}

// mostConfirmPauses bounds the pauses to a third of a second: the caller of Close has little time.
const mostConfirmPauses = 6

// confirmInTime waits until it is confirmed that the epoch is gone, or the one before if a server
// has said that it has expired; but no longer than ZooKeeper keeps its session. It has a connection
// of its own for that: the actor that would open the next epoch's has ended, so that nothing is
// granted any more.
func (e *epoch) confirmInTime() error {
	s := e.session
	g := s.state.lock()
	before := e.unconfirmed()
	g.unlock()
	if before == nil {
		return nil
	}
	inTime, cancel := before.whileItLives()
	defer cancel()
	asking := newEpoch(s, e.number)
	asking.ended = true // no other request is made in it
	conn, err := asking.connect(false, 0)
	if err != nil {
		return err
	}
	asking.conn = conn
	defer func() { _ = conn.Close(inTime) }()       // if that is not confirmed, nothing is left
	defer context.AfterFunc(inTime, conn.Abandon)() // which ends what waits for an answer
	for try := 1; inTime.Err() == nil && !errors.Is(err, zkconn.ErrEnded); try++ {
		if err = asking.confirm(before); err == nil {
			before.gone.Close()
			return nil
		}
		select {
		case <-time.After(backoff(min(try, mostConfirmPauses))):
		case <-inTime.Done():
		}
	}
	return fmt.Errorf("a ZooKeeper session that was said to have expired may have been left to expire: %w", cmp.Or(context.Cause(inTime), ErrSuspended))
}
