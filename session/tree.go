package session

import (
	"context"
	"errors"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// EnsurePath creates what is missing of a path, as persistent znodes without data. It may be
// repeated without harm, so lost answers are no error. Errors are those of [Session.Create],
// without ErrNodeExists and ErrUnknownOutcome; [ErrSuspended] when the retries are used up.
func (s *Session) EnsurePath(ctx context.Context, path string) error {
	err := s.requests.ready(path)
	if err == nil {
		_, err = readOut(ctx, &s.requests, func(c *zkconn.Conn) (struct{}, error) {
			return struct{}{}, s.space.making(ctx).ensure(c, s.space.path(path), jute.FlagPersistent)
		})
	}
	return s.space.failed("ensure path", path, err)
}

// DeleteAll deletes a znode with everything below it. That it does not exist is no error. It is no
// transaction: what is created below meanwhile is deleted too, and if it fails, a part is gone. It
// may be repeated without harm, so lost answers are no error. The root of ZooKeeper is refused
// ([ErrInvalidPath]); with a namespace, "/" is the namespace's own znode. Other errors:
// [ErrNoAuth]; [ErrTooLarge], if the names below a znode are more than one answer holds;
// [ErrSuspended] when the retries are used up; [ErrClosed]; ctx's cause.
func (s *Session) DeleteAll(ctx context.Context, path string) error {
	err := s.requests.ready(path)
	if err == nil && s.space.path(path) == "/" {
		err = errors.Join(ErrInvalidPath, errors.New("path: the root can't be deleted"))
	}
	if err == nil {
		err = s.requests.deleteAll(ctx, s.space.path(path))
	}
	return s.space.failed("delete all", path, err)
}

func (q *requests) deleteAll(ctx context.Context, root string) error {
	for try := 1; ; try++ {
		doomed, err := q.below(ctx, root)
		if err != nil {
			return err
		}
		for len(doomed) > 0 && err == nil {
			n := q.batch(doomed)
			err = q.deleteBatch(ctx, doomed[:n])
			doomed = doomed[n:]
		}
		if !errors.Is(err, ErrNotEmpty) { // somebody has created something meanwhile: look again
			return err
		}
		q.pause(ctx, backoff(try))
	}
}

// below lists a znode and everything below it, children before their parents; nothing if it does
// not exist.
func (q *requests) below(ctx context.Context, path string) ([]string, error) {
	names, err := readOut(ctx, q, func(c *zkconn.Conn) ([]string, error) {
		names, _, err := c.Children(path, false)
		return names, err
	})
	if errors.Is(err, ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range names {
		more, err := q.below(ctx, znode.Join(path, name))
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return append(all, path), nil
}

// batch is how many of the paths go into one transaction: a hundred, if they fit.
func (q *requests) batch(paths []string) int {
	size := zkconn.SizeOf()
	for i, path := range paths {
		size += zkconn.SizeOf(jute.Request{Op: jute.OpDelete, Path: path}) - zkconn.SizeOf()
		if i == 100 || i > 0 && size > q.most {
			return i
		}
	}
	return len(paths)
}

// deleteBatch deletes in one transaction, or one by one where somebody was quicker.
func (q *requests) deleteBatch(ctx context.Context, paths []string) error {
	ops := make([]jute.Request, len(paths))
	for i, path := range paths {
		ops[i] = jute.Request{Op: jute.OpDelete, Path: path, Version: -1}
	}
	_, err := readOut(ctx, q, func(c *zkconn.Conn) ([]zkconn.Result, error) { return c.Multi(ops) })
	if !errors.Is(err, ErrNoNode) {
		return err
	}
	for _, path := range paths {
		_, err := readOut(ctx, q, func(c *zkconn.Conn) (struct{}, error) { return struct{}{}, c.Delete(path, -1) })
		if err != nil && !errors.Is(err, ErrNoNode) {
			return err
		}
	}
	return nil
}

// parentOf is the path above an absolute one; "" above the root.
func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }
