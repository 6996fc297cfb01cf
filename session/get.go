package session

import (
	"context"

	"github.com/troupe-go/troupe/session/internal/zkconn"
)

type read[T any] struct {
	value  T
	stat   Stat
	exists bool
}

// Get reads a znode's data. Like all reads it is answered by the server that the session is
// connected to, which may lag behind others, but never goes back behind what this epoch has seen:
// see [Session.Sync]. Without a connection it waits for one. If the answer is lost, it is asked
// again: see [WithRetry].
//
// Errors of all reads: [ErrNoNode], but of Exists; [ErrNoAuth]; [ErrInvalidPath]; [ErrTooLarge];
// [ErrSuspended] when the retries are used up; [ErrClosed], with the cause if the session has
// failed; ctx's cause.
func (s *Session) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	r, err := readAt(ctx, s, path, func(c *zkconn.Conn, at string) (r read[[]byte], err error) {
		r.value, r.stat, err = c.Get(at, false)
		return r, err
	})
	return r.value, r.stat, failed("get", path, err)
}

// Exists looks whether a znode exists. That it does not is no error, and needs no permission. Other
// errors are those of [Session.Get].
func (s *Session) Exists(ctx context.Context, path string) (Stat, bool, error) {
	r, err := readAt(ctx, s, path, func(c *zkconn.Conn, at string) (r read[struct{}], err error) {
		r.stat, r.exists, err = c.Exists(at, false)
		if err == nil && !r.exists && path == "/" {
			err = ErrNoNode // so that the namespace is made
		}
		return r, err
	})
	return r.stat, r.exists, failed("exists", path, err)
}

// Children lists the names of a znode's children, in no order: names, not paths. Errors are those
// of [Session.Get].
func (s *Session) Children(ctx context.Context, path string) ([]string, Stat, error) {
	r, err := readAt(ctx, s, path, func(c *zkconn.Conn, at string) (r read[[]string], err error) {
		r.value, r.stat, err = c.Children(at, false)
		return r, err
	})
	return r.value, r.stat, failed("children", path, err)
}

// ACL reads a znode's ACL. Errors are those of [Session.Get].
func (s *Session) ACL(ctx context.Context, path string) ([]ACL, Stat, error) {
	r, err := readAt(ctx, s, path, func(c *zkconn.Conn, at string) (r read[[]ACL], err error) {
		r.value, r.stat, err = c.GetACL(at)
		return r, err
	})
	return r.value, r.stat, failed("acl", path, err)
}

// Sync waits until the server that the session is connected to has seen all that the leader had
// when it was asked. At a follower, what is read after it is at least as new as anything that
// anybody had been told of before it. The leader answers by itself, from a tree that may be
// milliseconds behind what its followers have answered: they are told to commit before it does so
// itself. See [Session.SyncQuorum]. The path need not exist. Errors are those of [Session.Get],
// without ErrNoNode and ErrNoAuth.
func (s *Session) Sync(ctx context.Context, path string) error {
	_, err := readAt(ctx, s, path, func(c *zkconn.Conn, at string) (read[struct{}], error) {
		return read[struct{}]{}, c.Sync(at)
	})
	return failed("sync", path, err)
}

// SyncQuorum is a Sync without an exception: what is read after it is at least as new as anything
// that anybody had been told of before it, also at the leader, and at one that was deposed and does
// not know it. It is a transaction that only checks the path, so it costs what a write costs.
// Errors are those of [Session.Sync].
func (s *Session) SyncQuorum(ctx context.Context, path string) error {
	_, err := readAt(ctx, s, path, func(c *zkconn.Conn, at string) (read[struct{}], error) {
		return read[struct{}]{}, caughtUp(c, at)
	})
	return failed("sync quorum", path, err)
}

// readAt reads at a path. The namespace's own znode exists as far as the application can see, so it
// is made if it is what is read and is missing.
func readAt[T any](ctx context.Context, s *Session, path string, call func(c *zkconn.Conn, at string) (read[T], error)) (read[T], error) {
	if err := s.requests.ready(path); err != nil {
		return read[T]{}, err
	}
	at := s.space.path(path)
	return readOut(ctx, &s.requests, func(c *zkconn.Conn) (read[T], error) {
		r, err := call(c, at)
		if path == "/" {
			var made bool
			if made, err = s.space.rootMissing(c, err); made {
				return call(c, at)
			}
		}
		return r, err
	})
}
