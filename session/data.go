package session

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// read is the answer to a read, as readAt passes it on.
type read[T any] struct {
	value  T
	stat   zkconn.Stat
	exists bool
}

// Get reads a znode's data. Like all reads it is answered by the server that the session is
// connected to. That server may lag behind others, but never behind what this epoch has seen: see
// [Session.Sync]. Without a connection Get waits for one. If the answer is lost, it asks again: see
// [WithRetry].
//
// Errors of all reads: [ErrNoNode], except of Exists; [ErrNoAuth]; [ErrInvalidPath]; [ErrTooLarge];
// [ErrSuspended] when the retries are used up; [ErrClosed], with the cause if the session has
// failed; ctx's cause.
func (s *Session) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	r, err := readAt(ctx, s, path, func(c *zkconn.Conn, at string) (r read[[]byte], err error) {
		r.value, r.stat, err = c.Get(at, false)
		return r, err
	})
	return r.value, Stat(r.stat), s.space.failed("get", path, err)
}

// Exists reports whether a znode exists. It is no error if the znode does not exist. Servers before
// 3.8.4 and 3.9.2 tell it without a permission. Other errors are those of [Session.Get].
func (s *Session) Exists(ctx context.Context, path string) (Stat, bool, error) {
	r, err := readAt(ctx, s, path, func(c *zkconn.Conn, at string) (r read[struct{}], err error) {
		r.stat, r.exists, err = c.Exists(at, false)
		if err == nil && !r.exists && path == "/" {
			err = ErrNoNode // so that the namespace is made
		}
		return r, err
	})
	return Stat(r.stat), r.exists, s.space.failed("exists", path, err)
}

// Children lists the names of a znode's children: names, not paths, in no order. Errors are those
// of [Session.Get].
func (s *Session) Children(ctx context.Context, path string) ([]string, Stat, error) {
	r, err := readAt(ctx, s, path, func(c *zkconn.Conn, at string) (r read[[]string], err error) {
		r.value, r.stat, err = c.Children(at, false)
		return r, err
	})
	return r.value, Stat(r.stat), s.space.failed("children", path, err)
}

// ACL reads a znode's ACL. Errors are those of [Session.Get].
func (s *Session) ACL(ctx context.Context, path string) ([]ACL, Stat, error) {
	r, err := readAt(ctx, s, path, func(c *zkconn.Conn, at string) (r read[[]jute.ACL], err error) {
		r.value, r.stat, err = c.GetACL(at)
		return r, err
	})
	return convert[ACL](r.value), Stat(r.stat), s.space.failed("acl", path, err)
}

// Sync waits until the server that the session is connected to has seen everything that the leader
// had seen when the leader was asked. At a follower, a read after Sync is at least as new as
// anything that any client had been told before. The leader answers on its own, from a tree that
// may be milliseconds behind what its followers have answered, since they are told to commit before
// it does so itself: see [Session.SyncQuorum]. The path need not exist. Errors are those of
// [Session.Get], without ErrNoNode and ErrNoAuth.
func (s *Session) Sync(ctx context.Context, path string) error {
	_, err := readAt(ctx, s, path, func(c *zkconn.Conn, at string) (read[struct{}], error) {
		return read[struct{}]{}, c.Sync(at)
	})
	return s.space.failed("sync", path, err)
}

// SyncQuorum is [Session.Sync] without that exception: a read after it is at least as new as
// anything that any client had been told before, also at the leader, and at a former leader that
// does not know that it was deposed. It is a transaction that only checks the path, and costs as
// much as a write. Errors are those of [Session.Sync].
func (s *Session) SyncQuorum(ctx context.Context, path string) error {
	_, err := readAt(ctx, s, path, func(c *zkconn.Conn, at string) (read[struct{}], error) {
		return read[struct{}]{}, caughtUp(c, at)
	})
	return s.space.failed("sync quorum", path, err)
}

// readAt reads at a path. The namespace's own znode exists as far as the application can see, so it
// is made if it is what is read and is missing.
func readAt[T any](ctx context.Context, s *Session, path string, call func(c *zkconn.Conn, at string) (read[T], error)) (read[T], error) {
	if err := s.sender.ready(path); err != nil {
		return read[T]{}, err
	}
	at := s.space.path(path)
	return readOut(ctx, &s.sender, func(c *zkconn.Conn) (read[T], error) {
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

// Set replaces a znode's data if it has this version (of its [Stat]); -1 stands for any. It returns
// the new Stat. It is sent once: if the answer is lost, it returns [ErrUnknownOutcome]. Without a
// connection it waits for one.
//
// Errors of all writes: ErrUnknownOutcome, together with ctx's cause if ctx ended while the answer
// was out; ctx's cause alone if nothing was sent; [ErrNoNode]; [ErrBadVersion]; [ErrNoAuth];
// [ErrInvalidPath]; [ErrTooLarge]; [ErrClosed], with the cause if the session has failed.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	ask := jute.Request{Op: jute.OpSetData, Path: s.space.path(path), Data: data, Version: version}
	stat, err := writeAt(ctx, s, path, zkconn.Size(ask), func(c *zkconn.Conn) (zkconn.Stat, error) {
		return c.Set(ask.Path, data, version)
	})
	return Stat(stat), s.space.failed("set", path, err)
}

// Delete deletes a childless znode if it has this version; -1 stands for any. It is sent once: if
// the answer is lost, it returns [ErrUnknownOutcome]. Errors are those of [Session.Set], and
// [ErrNotEmpty].
func (s *Session) Delete(ctx context.Context, path string, version int32) error {
	ask := jute.Request{Op: jute.OpDelete, Path: s.space.path(path), Version: version}
	_, err := writeAt(ctx, s, path, zkconn.Size(ask), func(c *zkconn.Conn) (struct{}, error) {
		return struct{}{}, c.Delete(ask.Path, version)
	})
	return s.space.failed("delete", path, err)
}

// SetACL replaces a znode's ACL if that has this version (Aversion of its [Stat]); -1 stands for
// any. It is sent once: if the answer is lost, it returns [ErrUnknownOutcome]. Errors are those of
// [Session.Set], and [ErrInvalidACL].
func (s *Session) SetACL(ctx context.Context, path string, acl []ACL, version int32) (Stat, error) {
	sent := convert[jute.ACL](acl)
	if err := validateACL(sent); err != nil {
		return Stat{}, s.space.failed("set acl", path, err)
	}
	size := zkconn.Size(jute.Request{Op: jute.OpSetACL, Path: s.space.path(path), ACL: sent})
	stat, err := writeAt(ctx, s, path, size, func(c *zkconn.Conn) (zkconn.Stat, error) {
		return c.SetACL(s.space.path(path), sent, version)
	})
	return Stat(stat), s.space.failed("set acl", path, err)
}

// Multi carries out all operations, in order, or none of them: then the error is that of the one
// that failed, and the results say which. There is one result for each operation; none if the
// transaction was not sent or its answer was lost. It is sent once: if the answer is lost, it
// returns [ErrUnknownOutcome]. Errors are those of [Session.Set] and of the operations.
func (s *Session) Multi(ctx context.Context, ops ...Op) ([]Result, error) {
	t, err := s.transaction(s.space.making(ctx), ops)
	if err == nil {
		err = s.sender.open()
	}
	if err == nil {
		err = s.sender.fits(t.size())
	}
	if err != nil {
		return nil, s.space.failed("multi", "", err)
	}
	results, err := writeOut(ctx, &s.sender, t.size(), func(c *zkconn.Conn) ([]zkconn.Result, error) {
		results, err := t.send(c)
		if !errors.Is(err, ErrNoNode) {
			return results, err
		}
		made, err := s.space.rootMissing(c, err)
		if made {
			return t.send(c)
		}
		return results, inPreparation(err)
	})
	if g := t.lost(results, err); g != nil {
		results, err = nil, asLost(g.hold.Err())
	}
	return s.space.results(results), s.space.failed("multi", "", err)
}

// writeAt writes at a path, once.
func writeAt[T any](ctx context.Context, s *Session, path string, size int, call func(c *zkconn.Conn) (T, error)) (T, error) {
	var none T
	if err := s.sender.ready(path); err != nil {
		return none, err
	}
	if err := s.sender.fits(size); err != nil {
		return none, err
	}
	return writeOut(ctx, &s.sender, size, call)
}

// EnsurePath creates what is missing of a path, as persistent znodes without data. It may be
// repeated without harm, so lost answers are no error. Errors are those of [Session.Create],
// without ErrNodeExists and ErrUnknownOutcome; [ErrSuspended] when the retries are used up.
func (s *Session) EnsurePath(ctx context.Context, path string) error {
	err := s.sender.ready(path)
	if err == nil {
		_, err = readOut(ctx, &s.sender, func(c *zkconn.Conn) (struct{}, error) {
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
	err := s.sender.ready(path)
	if err == nil && s.space.path(path) == "/" {
		err = errors.Join(ErrInvalidPath, errors.New("path: the root can't be deleted"))
	}
	if err == nil {
		err = s.sender.deleteAll(ctx, s.space.path(path))
	}
	return s.space.failed("delete all", path, err)
}

func (q *sender) deleteAll(ctx context.Context, root string) error {
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
		if !errors.Is(err, ErrNotEmpty) { // another client has created something meanwhile: list again
			return err
		}
		q.pause(ctx, backoff(q.tasks.source, try))
	}
}

// below lists a znode and everything below it, children before their parents; nothing if it does
// not exist.
func (q *sender) below(ctx context.Context, path string) ([]string, error) {
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
func (q *sender) batch(paths []string) int {
	size := zkconn.SizeOf()
	for i, path := range paths {
		size += zkconn.SizeOf(jute.Request{Op: jute.OpDelete, Path: path}) - zkconn.SizeOf()
		if i == 100 || i > 0 && size > q.most {
			return i
		}
	}
	return len(paths)
}

// deleteBatch deletes in one transaction, or one by one where another client was quicker.
func (q *sender) deleteBatch(ctx context.Context, paths []string) error {
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

// ACL is go-zookeeper's type: one entry of a znode's ACL. It permits Perms, [PermRead] and the like
// or-ed together, to those that ID stands for in the Scheme ("world", "auth", "digest", "ip",
// "x509", …). zk.WorldACL and zk.DigestACL make some.
type ACL = zk.ACL

// Stat is what ZooKeeper keeps about a znode beside its data: go-zookeeper's Stat, with times.
type Stat struct {
	Czxid          int64     // the transaction that created it
	Mzxid          int64     // the transaction that last changed its data
	Ctime          time.Time // when it was created, by the server's clock
	Mtime          time.Time // when its data was last changed, by the server's clock
	Version        int32     // changes of its data
	Cversion       int32     // changes of its children
	Aversion       int32     // changes of its ACL
	EphemeralOwner int64     // the session that it ends with; 0 for a persistent one; containers and TTL znodes have special numbers
	DataLength     int32     // bytes of data
	NumChildren    int32     // children
	Pzxid          int64     // the transaction that last added or removed a child
}

// Permissions of an [ACL]: go-zookeeper's constants.
const (
	PermRead   = zk.PermRead   // read its data, list its children
	PermWrite  = zk.PermWrite  // set its data
	PermCreate = zk.PermCreate // create children
	PermDelete = zk.PermDelete // delete children
	PermAdmin  = zk.PermAdmin  // set its ACL
	PermAll    = zk.PermAll    // all of these
)

// AnyoneACL permits perms to every client.
func AnyoneACL(perms int32) []ACL { return zk.WorldACL(perms) }

// AuthACL permits perms to the users as whom the session is authenticated, as by [WithAuth].
// Servers refuse it if there is none.
func AuthACL(perms int32) []ACL { return zk.AuthACL(perms) }

// convert makes an ACL of an application's that of a request, or back. It is not nil.
func convert[To, From ACL | jute.ACL](acl []From) []To {
	all := make([]To, len(acl))
	for i, a := range acl {
		all[i] = To(a)
	}
	return all
}
