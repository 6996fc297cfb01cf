package session

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// createProtected creates a znode under a name of its own, so that it is found again when the
// answer is lost. The caller may leave; what he then has no use for is deleted.
func (n *newborn) createProtected(ctx context.Context) (string, error) {
	s := n.session
	var decided atomic.Bool // by whoever is first: the caller who leaves, or the task with the answer
	var made string
	var err error
	answered := notify.NewLatch()
	if !s.tasks.run(func() {
		path, at, failure := n.bear(ctx)
		if decided.Swap(true) {
			if failure == nil {
				s.disown(at.epoch, path)
			}
			return
		}
		made, err = s.relative(path), failure
		answered.Close()
	}) {
		return "", s.closedErr()
	}
	select {
	case <-answered.C():
	case <-ctx.Done():
		if !decided.Swap(true) {
			return "", context.Cause(ctx)
		}
		<-answered.C() // the answer was first
	}
	return made, err
}

// bear creates the znode. Until something may exist it waits for a connection with ctx, and from
// then on until the session ends, since nobody else will look.
func (n *newborn) bear(ctx context.Context) (path string, at passage, err error) {
	s := n.session
	parent, name := znode.Split(s.Path(n.path))
	guid, lost := znode.NewGUID(), false
	var gone losses
	var seen proof
	var proven *epoch
	for try := 1; ; try++ {
		waiting := ctx
		if lost {
			waiting = s.life
		}
		if at, err = s.pass(waiting, nil, at); err != nil {
			return "", at, unlessLost(lost, s.unlessClosed(err))
		}
		if at.epoch != proven { // it held on the connections of that one
			seen, proven = proof{}, at.epoch
		}
		if lost {
			if path, err = n.recognise(at, &seen, parent, guid); err == nil && path != "" {
				return path, at, nil
			}
		}
		if err == nil && gone.tooMany() { // it is not there, and others are answered
			if err = gone.verdict(at.epoch.conn); definite(err) {
				return "", at, err
			}
		}
		if err == nil {
			seen = proof{}
			path, err = n.create(gone.on(at.epoch.conn), znode.Join(parent, znode.Protect(guid, name)))
			lost = errors.Is(gone.noted(err), zkconn.ErrNoReply)
			if lost || errors.Is(err, zkconn.ErrCutOff) {
				s.pauseAfterLoss(s.life, gone.times)
			}
		}
		switch {
		case lost && errors.Is(err, zkconn.ErrThrottled):
			s.pause(s.life, backoff(try))
			at = passage{}
		case err == nil || definite(err):
			return path, at, unlessLost(lost, err)
		default:
			at = at.lost(err)
		}
	}
}

// unlessLost is an error that is about a create, unless that one's answer was lost: then it is
// about the look for it.
func unlessLost(lost bool, err error) error {
	if lost {
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return err
}

// recognise looks for the znode. An ephemeral one that belongs to another ZooKeeper session is
// one's own no longer: it is about to end.
func (n *newborn) recognise(at passage, p *proof, parent string, guid znode.GUID) (string, error) {
	c := at.epoch.conn
	path, err := find(c, p, parent, znode.Protect(guid, ""))
	if err != nil || path == "" || !n.ephemeral {
		return path, err
	}
	stat, exists, err := lookOwn(c, path)
	switch {
	case err != nil:
		return "", err
	case exists && stat.EphemeralOwner == c.SessionID():
		return path, nil
	case exists:
		if err := c.Delete(path, -1); err != nil && !errors.Is(err, ErrNoNode) {
			return "", err
		}
	}
	return "", nil
}

// disown deletes a znode that nobody wants any more. A persistent one does not end with its epoch,
// so neither does this.
func (s *Session) disown(e *epoch, path string) {
	_ = s.remove(e, s.relative(path), nil) // an error is the end of the epoch, or of the session: see below
	s.mu.Lock()
	again := e.over && !s.closing
	s.mu.Unlock()
	if !again {
		return
	}
	if _, err := readOut(s.life, s, func(c *zkconn.Conn) (struct{}, error) {
		err := c.Delete(path, -1)
		if errors.Is(err, ErrNoNode) {
			err = nil
		}
		return struct{}{}, err
	}); err != nil {
		s.log.Warn("a znode that was given up could not be deleted", "path", path, "error", err)
	}
}
