package lock

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/troupe-go/troupe/internal/contend"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// NewSemaphore makes a semaphore: as many hold at the same time as there are permits, and each
// takes one, or as many as [WithWeight] says, all at once or none. Order is strict: who wants more
// than is left holds up all behind, so that nobody who wants much is starved by those who want
// little.
//
// The limit lives in ZooKeeper, as the data of path, a persistent znode. The first instance that
// wants a permit writes permits there; for every other, another number there is [ErrLimit], from
// the call that wants the permit, or as the end of an instance with a standing intent. Once an
// instance has agreed with what is there, it follows what [SetLimit] makes of it. A limit that
// becomes less than an instance's weight is ErrLimit as well when it is next to be granted.
//
// One instance serves its callers one after the other, as every [Lock] does: to hold several
// permits at the same time, make several instances, or one with a weight. Apart from that, all is
// as with [New]. permits and weight are at least 1, and weight is at most permits.
func NewSemaphore(s *session.Session, path string, permits int, opts ...Option) (*Lock, error) {
	const op = "lock.NewSemaphore"
	if permits < 1 {
		return nil, &session.OpError{Op: op, Path: path, Err: fmt.Errorf("permits: %d, less than 1", permits)}
	}
	return build(op, s, path, kind{of: znode.Lease, rule: contend.AtMost(permits), permits: permits}, opts)
}

// WithWeight lets a semaphore's instance take n permits at once. The other locks have no weight,
// and refuse it.
func WithWeight(n int) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("WithWeight: n: %d, less than 1", n)
		}
		o.weight = n
		return nil
	}
}

// SetLimit changes the number of permits of the semaphore at a path, for all that use it, and sets
// it where none was set. Raising it lets those in who fit then. Lowering it takes nothing from
// those who hold; who waits is granted when enough of them have released. It returns when ZooKeeper
// has the number. Errors: n less than 1; [ErrLimit] if path has data that are no limit.
func SetLimit(ctx context.Context, s *session.Session, path string, n int) error {
	const op = "set limit"
	switch err := znode.Validate(path); {
	case s == nil:
		return errors.New("lock.SetLimit: s: nil session")
	case err != nil:
		return &session.OpError{Op: op, Path: path, Err: fmt.Errorf("%w: path: %w", session.ErrInvalidPath, err)}
	case n < 1:
		return &session.OpError{Op: op, Path: path, Err: fmt.Errorf("n: %d, less than 1", n)}
	}
	for {
		err := setLimit(ctx, s, path, strconv.AppendInt(nil, int64(n), 10))
		again := errors.Is(err, session.ErrBadVersion) || errors.Is(err, session.ErrNoNode) || errors.Is(err, session.ErrNodeExists) ||
			errors.Is(err, session.ErrUnknownOutcome)
		if !again || ctx.Err() != nil {
			return failed(op, path, err)
		}
	}
}

// setLimit tries once.
func setLimit(ctx context.Context, s *session.Session, path string, limit []byte) error {
	data, stat, err := s.Get(ctx, path)
	switch {
	case errors.Is(err, session.ErrNoNode):
		_, err = s.Create(ctx, path, limit, session.Parents())
	case err != nil:
	case !contend.IsLimit(data):
		err = fmt.Errorf("%w: the data of the path are no number of permits", ErrLimit)
	case string(data) != string(limit):
		_, err = s.Set(ctx, path, limit, stat.Version)
	}
	return err
}
