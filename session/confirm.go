package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// That a ZooKeeper session has expired may be said by a leader that stood still for long and was
// deposed: by its own clock it has, and the others keep it, with every znode, until it expires
// there. So the next epoch confirms it with a quorum, before it begins.

// enough is how many znodes are looked at that stand for certain. They end with their session
// alone, but one of them might be deleted by somebody else.
const enough = 3

// evidence are the paths of znodes that show whether the ZooKeeper session of the record is over: a
// few of those that stand for certain. It is empty if none does and some may stand, and nil if
// there is nothing.
func (l *record) evidence(space *namespace) []string {
	if len(l.all) == 0 {
		return nil
	}
	certain := []string{}
	for c := range l.all {
		if len(certain) < enough && c.path != "" && !c.suspect && !c.doubtful && !c.leaving {
			certain = append(certain, space.path(c.path))
		}
	}
	return certain
}

// saidOver notes that a server has said that the ZooKeeper session of an epoch that is over is over
// too: that it has expired, or was closed. If it is said to have expired, and something was left in
// it, it is not known to be gone before a quorum has confirmed that.
func (e *epoch) saidOver() {
	if e.left == nil {
		e.gone.Close()
	}
}

// unconfirmed is the epoch, this one or the one before, that is said to have expired and not known
// to be gone; nil if there is none. With the mutex.
func (e *epoch) unconfirmed() *epoch {
	if e.before != nil {
		return e.before
	}
	if e.left != nil && !e.gone.Closed() {
		return e
	}
	return nil
}

var (
	errStands   = errors.New("it has znodes, so other servers keep it")
	errMayStand = errors.New("something was under way in it, and the leader has changed")
)

// confirm asks a quorum of the servers whether the epoch before is gone: nil if it is, [errStands]
// or [errMayStand] if not. What only may stand while the leader changed, or can't be read, is taken
// for gone when twice the timeout and two ticks have passed: ZooKeeper ends a session at the first
// tick after its timeout, and one new leader counts anew. It has ended then, unless there were
// more, or none for long.
func (e *epoch) confirm(before *epoch) error {
	if err := caughtUp(e.conn, "/"); err != nil { // from now on reads are not older than this
		return err
	}
	tick := cmp.Or(e.session.cfg.tick, before.timeout/2) // a timeout is at least two ticks
	longAgo := time.Since(before.lost) > 2*(before.timeout+tick)
	// The upper half of a transaction's number counts leaders. If it has not grown, the one that
	// said so leads: it has ended the session, and refuses what comes late.
	sameLeader := e.conn.LastZxid()>>32 == before.conn.LastZxid()>>32
	if len(before.left) == 0 && !longAgo && !sameLeader {
		return errMayStand
	}
	for _, path := range before.left {
		stat, exists, err := e.conn.Exists(path, false)
		switch {
		case err == nil && exists && stat.EphemeralOwner == before.sessionID: // names come again
			return errStands
		case err != nil && (!longAgo || !definite(err) || errors.Is(err, zkconn.ErrThrottled)):
			return err
		}
	}
	return nil
}

// mostConfirmPauses lets the pauses grow up to a third of a second: whoever closes has little time.
const mostConfirmPauses = 6

// confirmInTime waits until it is confirmed that the epoch is gone, or the one before, of which a
// server has said that it has expired; but no longer than ZooKeeper keeps its session. It has a
// connection of its own for that: the actor that would open the next epoch's has ended, so that
// nothing is granted any more.
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
	asking.over = true // nobody else asks anything in it
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

// awaitGone waits until ZooKeeper is known to have ended an epoch that is over: nil, or [ErrClosed]
// if the session is closed before that is known.
func (e *epoch) awaitGone() error {
	s := e.session
	select {
	case <-e.gone.C():
	case <-s.lifetime.end.Done():
		if !e.gone.Closed() {
			return s.lifetime.closedErr()
		}
	}
	return nil
}
