package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/contend"
	"github.com/troupe-go/troupe/internal/host"
	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Lock is one participant in the line under a path. It is safe for concurrent use, and cheap while it waits: no goroutine of its own.
type Lock struct {
	session  *session.Session
	path     string
	instance *host.Instance[*Grant]
	standing *notify.Topic[Standing]
}

// Option changes how a Lock is made.
type Option func(*options) error

type options struct{ data []byte }

// WithData puts data into the contender znode, for others to see with [Lock.Contenders]: who this is, say. They must not begin with "unlock", which
// is how a revocation is written.
func WithData(data []byte) Option {
	return func(o *options) error {
		if znode.Revoked(data) {
			return errors.New("WithData: data must not begin with \"unlock\"")
		}
		o.data = append([]byte(nil), data...)
		return nil
	}
}

// New makes an exclusive lock on a path, the parent of the line. It does no I/O: the path is created when the lock is first wanted, as a container
// node where the server has them. Errors name the argument that is wrong; a closed session is session.ErrClosed.
func New(s *session.Session, path string, opts ...Option) (*Lock, error) {
	if s == nil {
		return nil, errors.New("lock.New: s: nil session")
	}
	if err := znode.Validate(path); err != nil {
		return nil, &session.OpError{Op: "lock.New", Path: path, Err: fmt.Errorf("%w: path: %w", session.ErrInvalidPath, err)}
	}
	var o options
	for i, opt := range opts {
		if opt == nil {
			return nil, failed("lock.New", path, fmt.Errorf("opts[%d]: nil", i))
		}
		if err := opt(&o); err != nil {
			return nil, &session.OpError{Op: "lock.New", Path: path, Err: err}
		}
	}
	l := &Lock{session: s, path: path, standing: notify.NewTopic[Standing]()}
	l.standing.Publish(Standing{})
	instance, err := host.New(host.Config[*Grant]{
		Session: s, Kind: "lock", Path: path, Name: "lock-", Data: o.data,
		Machine: func() machine.Machine { return contend.New(contend.Config{Parent: path, Rule: contend.Exclusive()}) },
		Wrap:    l.wrap,
		Publish: func(m machine.Standing) { l.standing.Publish(standingOf(m)) },
		Ended:   func(error) { l.standing.Close() },
	})
	if err != nil {
		return nil, failed("lock.New", path, err)
	}
	l.instance = instance
	return l, nil
}

// Done closes when the lock is over: by Close, with its session, or because it failed for good. Err then says why.
func (l *Lock) Done() <-chan struct{} { return l.instance.Done() }

// Err is nil exactly while Done is open: session.ErrClosed after Close or with the session, else the cause.
func (l *Lock) Err() error { return l.instance.Err() }

// Close ends the lock: every intent and every waiting call is withdrawn (session.ErrClosed), what is held is given up (its Done closes with
// session.ErrClosed), and Close returns when ZooKeeper has confirmed the deletions. If ctx ends first its error is returned; the deletions then go on
// in the background until the epoch ends. It is idempotent.
func (l *Lock) Close(ctx context.Context) error {
	return failed("close", l.path, l.instance.Close(ctx))
}
