package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// That a ZooKeeper session has expired may be said by a leader that stood still for long and was
// deposed: by its own clock it has, and the others keep it, with every znode, until it expires
// there. So the next epoch confirms it with a quorum, before it begins.

// evidence is an ephemeral znode that exists, or may, while the session of an epoch lives.
type evidence struct {
	parent string // absolute
	head   string // what its name begins with
	exact  bool   // that is all of its name
}

// enough are so many of those that stand for certain: they end with their session alone. One
// of them might be deleted by somebody else.
const enough = 3

// evidence are the znodes that show whether the ZooKeeper session of the record is over: a few of
// those that stand for certain, or else all that may; and those whose creation is under way.
func (l *ledger) evidence(space *namespace) []evidence {
	var certain, doubtful, underway []evidence
	seen := make(map[evidence]bool)
	for c := range l.all {
		w := evidence{parent: space.path(c.parent), head: c.head, exact: c.form == znode.Alone}
		if c.path != "" {
			w.parent, w.head = znode.Split(space.path(c.path))
			w.exact = true
		}
		switch {
		case seen[w]:
		case c.path == "":
			underway = append(underway, w)
		case c.suspect || c.doubtful || c.leaving:
			doubtful = append(doubtful, w)
		case len(certain) < enough:
			certain = append(certain, w)
		}
		seen[w] = true
	}
	if len(certain) == 0 {
		certain = doubtful
	}
	return append(certain, underway...)
}

// saidOver notes that a server has said that the ZooKeeper session of an epoch that is over is over
// too: that it has expired, or was closed. If it is said to have expired, and something was left in
// it, it is not known to be gone before a quorum has confirmed that.
func (e *epoch) saidOver() {
	if len(e.left) == 0 {
		e.gone.Close()
	}
}

// unconfirmed is the epoch, this one or the one before, that is said to have expired and not known
// to be gone; nil if there is none. With the mutex.
func (e *epoch) unconfirmed() *epoch {
	if e.before != nil {
		return e.before
	}
	if len(e.left) > 0 && !e.gone.Closed() {
		return e
	}
	return nil
}

var (
	errStands  = errors.New("a ZooKeeper session that was said to have expired has znodes")
	errNotRead = errors.New("it can't be read whether a ZooKeeper session that was said to have expired has znodes")
)

// confirm asks a quorum of the servers whether the epoch before is gone: nil if it is, [errStands]
// or [errNotRead] if that is not so, or not known. What may not be read, or takes too long to read,
// is taken for gone when twice the timeout has passed, since ZooKeeper has ended the session by
// then, unless it had no leader for long.
func (e *epoch) confirm(before *epoch) error {
	if err := caughtUp(e.conn, "/"); err != nil { // from now on reads are not older than this
		return err
	}
	listed := make(map[string][]string)
	for _, w := range before.left {
		err := w.goneWith(e.conn, before, listed)
		switch {
		case err == nil || err == errStands || !definite(err) || errors.Is(err, zkconn.ErrThrottled):
		case before.longAgo():
			err = nil
		default:
			err = fmt.Errorf("%w: %w", errNotRead, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// longAgo tells whether the connection of an epoch was lost so long ago that its ZooKeeper session
// has expired, if the servers had a leader.
func (e *epoch) longAgo() bool { return time.Since(e.lost) > 2*e.timeout }

// goneWith is [errStands] if there is a znode of the epoch's session that may be the evidence.
// Names come again, sessions do not.
func (w evidence) goneWith(c *zkconn.Conn, before *epoch, listed map[string][]string) error {
	names := []string{w.head}
	if !w.exact {
		if _, known := listed[w.parent]; !known {
			all, _, err := c.Children(w.parent, false)
			if err != nil && !errors.Is(err, ErrNoNode) {
				return err
			}
			listed[w.parent] = all
		}
		names = listed[w.parent]
	}
	for _, name := range names {
		if !strings.HasPrefix(name, w.head) {
			continue
		}
		if !w.exact && before.longAgo() { // there are many, each of which is read
			return nil
		}
		stat, exists, err := c.Exists(znode.Join(w.parent, name), false)
		if err != nil {
			return err
		}
		if exists && stat.EphemeralOwner == before.sessionID {
			return errStands
		}
	}
	return nil
}

// confirmInTime waits until it is confirmed that the epoch is gone, or the one before, of which a
// server has said that it has expired; but no longer than ZooKeeper keeps its session. It has a
// connection of its own for that: it is for the end of the session, when there is no other.
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
	var over notify.Latch
	if s.tasks.run(func() { // ends at the latest with the connection
		defer over.Close()
		asking.confirmUntil(inTime, before)
	}) {
		select {
		case <-over.C():
		case <-inTime.Done():
		}
	}
	_ = conn.Close(inTime) // if that is not confirmed, nothing is left
	if before.gone.Closed() {
		return nil
	}
	why := context.Cause(inTime)
	if why == nil {
		why = ErrSuspended
	}
	return fmt.Errorf("a ZooKeeper session that was said to have expired may have been left to expire: %w", why)
}

// mostConfirmPauses lets the pauses grow up to a third of a second: whoever closes has little time.
const mostConfirmPauses = 6

// confirmUntil asks until the end of the epoch before is confirmed.
func (e *epoch) confirmUntil(ctx context.Context, before *epoch) {
	for try := 1; ctx.Err() == nil; try++ {
		err := e.confirm(before)
		if err == nil {
			before.gone.Close()
		}
		if err == nil || errors.Is(err, zkconn.ErrEnded) {
			return
		}
		select {
		case <-time.After(backoff(min(try, mostConfirmPauses))):
		case <-ctx.Done():
		}
	}
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
