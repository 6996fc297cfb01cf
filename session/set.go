package session

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Set replaces a znode's data if it has this version (of its [Stat]); -1 stands for any. It returns
// the new Stat. It is sent once: if the answer is lost, it returns [ErrUnknownOutcome]. Without a
// connection it waits for one.
//
// Errors of all writes: ErrUnknownOutcome, together with ctx's cause if ctx ended while the answer
// was out; ctx's cause alone if nothing was sent; [ErrNoNode]; [ErrBadVersion]; [ErrNoAuth];
// [ErrInvalidPath]; [ErrTooLarge]; [ErrClosed], with the cause if the session has failed.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	ask := jute.Request{Op: jute.OpSetData, Path: s.space.path(path), Data: data, Version: version}
	stat, err := writeAt(ctx, s, path, zkconn.Size(ask), func(c *zkconn.Conn) (Stat, error) {
		return c.Set(ask.Path, data, version)
	})
	return stat, failed("set", path, err)
}

// Delete deletes a childless znode if it has this version; -1 stands for any. It is sent once: if
// the answer is lost, it returns [ErrUnknownOutcome]. Errors are those of [Session.Set], and
// [ErrNotEmpty].
func (s *Session) Delete(ctx context.Context, path string, version int32) error {
	ask := jute.Request{Op: jute.OpDelete, Path: s.space.path(path), Version: version}
	_, err := writeAt(ctx, s, path, zkconn.Size(ask), func(c *zkconn.Conn) (struct{}, error) {
		return struct{}{}, c.Delete(ask.Path, version)
	})
	return failed("delete", path, err)
}

// SetACL replaces a znode's ACL if that has this version (Aversion of its [Stat]); -1 stands for
// any. It is sent once: if the answer is lost, it returns [ErrUnknownOutcome]. Errors are those of
// [Session.Set], and [ErrInvalidACL].
func (s *Session) SetACL(ctx context.Context, path string, acl []ACL, version int32) (Stat, error) {
	if err := validateACL(acl); err != nil {
		return Stat{}, failed("set acl", path, err)
	}
	size := zkconn.Size(jute.Request{Op: jute.OpSetACL, Path: s.space.path(path), ACL: acl})
	stat, err := writeAt(ctx, s, path, size, func(c *zkconn.Conn) (Stat, error) {
		return c.SetACL(s.space.path(path), acl, version)
	})
	return stat, failed("set acl", path, err)
}

// Multi carries out all operations, in order, or none of them: then the error is that of the one
// that failed, and the results say which. There is one result for each operation; none if the
// transaction was not sent or its answer was lost. It is sent once: if the answer is lost, it
// returns [ErrUnknownOutcome]. Errors are those of [Session.Set], of the operations, and of
// [Op.Under].
func (s *Session) Multi(ctx context.Context, ops ...Op) ([]Result, error) {
	t, err := s.transaction(s.space.making(ctx), ops)
	if err == nil {
		err = s.requests.open()
	}
	if err == nil {
		err = s.requests.fits(t.size())
	}
	if err != nil {
		return nil, failed("multi", "", err)
	}
	results, err := writeOut(ctx, &s.requests, func(c *zkconn.Conn) ([]Result, error) {
		results, err := t.send(c)
		if !errors.Is(err, ErrNoNode) {
			return results, err
		}
		made, err := s.space.rootMissing(c, err)
		if made {
			return t.send(c)
		}
		return results, goesAhead(err)
	})
	if g := t.lost(results, err); g != nil {
		results, err = nil, asLost(g.hold.Err())
	}
	return s.space.results(results), failed("multi", "", err)
}

// writeAt writes at a path, once.
func writeAt[T any](ctx context.Context, s *Session, path string, size int, call func(c *zkconn.Conn) (T, error)) (T, error) {
	var none T
	if err := s.requests.ready(path); err != nil {
		return none, err
	}
	if err := s.requests.fits(size); err != nil {
		return none, err
	}
	return writeOut(ctx, &s.requests, call)
}
