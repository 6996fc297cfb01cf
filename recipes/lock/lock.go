package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/host"
	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Lock is one participant in the line under a path. It is safe for concurrent use, and cheap while
// it waits: no goroutine of its own.
type Lock struct {
	session  *session.Session
	path     string
	kind     kind
	instance *host.Instance[*Grant]
	standing *notify.Topic[Standing]
}

// New makes an exclusive lock on a path, the parent of the line. It does no I/O: the path is
// created when the lock is first wanted, as a container node where the server has them. Errors name
// the argument that is wrong; a closed session is session.ErrClosed.
func New(s *session.Session, path string, opts ...Option) (*Lock, error) {
	return build("lock.New", s, path, exclusive, opts)
}

// build makes a lock of a kind.
func build(op string, s *session.Session, path string, k kind, opts []Option) (*Lock, error) {
	if s == nil {
		return nil, errors.New(op + ": s: nil session")
	}
	if err := znode.Validate(path); err != nil {
		return nil, &session.OpError{Op: op, Path: path, Err: fmt.Errorf("%w: path: %w", session.ErrInvalidPath, err)}
	}
	o, err := optionsOf(opts)
	if err == nil {
		k, err = k.with(o)
	}
	if err == nil && k.form == znode.Alone && path == "/" {
		err = fmt.Errorf("%w: path: the root cannot be a lock of the layout Simple", session.ErrInvalidPath)
	}
	if err != nil {
		return nil, failed(op, path, err)
	}
	l := &Lock{session: s, path: path, kind: k, standing: notify.NewTopic[Standing]()}
	l.standing.Publish(Standing{})
	instance, err := host.New(host.Config[*Grant]{
		Session: s, Kind: "lock", Path: path, Name: k.name, Form: k.form, Data: o.data, Parent: k.limit(), Delay: k.delay, WarnAfter: o.warn,
		Machine: func() machine.Machine { return k.machine(path, o.data) },
		Wrap:    l.wrap,
		Publish: func(m machine.Standing) { l.standing.Publish(standingOf(m)) },
		Ended:   func(error) { l.standing.Close() },
	})
	if err != nil {
		return nil, failed(op, path, err)
	}
	l.instance = instance
	return l, nil
}

// Done closes when the lock is over: by Close, with its session, or because it failed for good. Err
// then says why.
func (l *Lock) Done() <-chan struct{} { return l.instance.Done() }

// Err is nil exactly while Done is open: session.ErrClosed after Close or with the session, else
// the cause.
func (l *Lock) Err() error { return l.instance.Err() }

// Close ends the lock: every intent and every waiting call is withdrawn (session.ErrClosed), what
// is held is given up (its Done closes with session.ErrClosed), and Close returns when ZooKeeper
// has confirmed the deletions. If ctx ends first its error is returned; the deletions then go on in
// the background until the epoch ends. It is idempotent.
func (l *Lock) Close(ctx context.Context) error {
	return failed("close", l.path, l.instance.Close(ctx))
}
