package lock

import (
	"context"
	"fmt"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/session"
)

// Lock is one contender for the lock at a path. It is safe for concurrent use, and cheap while it
// waits: it has no goroutine of its own.
type Lock struct {
	session  *session.Session
	path     string
	kind     kind
	instance *recipe.Claims[*Grant]
	standing *notify.Topic[Standing]
	warns    bool // WithWarnAfter was given
}

// New creates an exclusive lock. The path is the parent of the contenders' znodes. New does no I/O:
// the path is created when the lock is first wanted, as a container znode if the servers support
// them. Errors name the invalid argument; for a closed session the error is session.ErrClosed.
func New(s *session.Session, path string, opts ...Option) (*Lock, error) {
	return build("lock.New", s, path, exclusive, opts)
}

// build creates a lock of any kind.
func build(op string, s *session.Session, path string, k kind, opts []Option) (*Lock, error) {
	if err := recipe.CheckNew(op, s, "path", path); err != nil {
		return nil, err
	}
	o, err := optionsOf(opts)
	if err == nil {
		k, err = k.with(o)
	}
	if err == nil && k.form == znode.Alone && path == "/" {
		err = fmt.Errorf("%w: path: the root cannot be a lock of the layout Simple", session.ErrInvalidPath)
	}
	if err != nil {
		return nil, failed(s, op, path, err)
	}
	l := &Lock{session: s, path: path, kind: k, standing: notify.NewTopic[Standing](), warns: o.warns}
	l.standing.Publish(Standing{})
	cfg := o.claims
	cfg.Session, cfg.Kind, cfg.Path = s, "lock", path
	cfg.Name, cfg.Form, cfg.Parent = k.name, k.form, k.limit()
	if o.layout == Troupe {
		cfg.Data = append([]byte(recipe.Identity(s).Note()), cfg.Data...)
	}
	cfg.Machine = func() machine.Machine { return k.machine(path, cfg.Data) }
	cfg.Wrap = l.wrap
	if k.form != znode.Alone { // then others leave no trace
		cfg.Waiting = l.waiting
		cfg.Holder = func(ctx context.Context) (recipe.Holder, error) {
			return contenders.Holder(ctx, s, path, func(e contenders.Entry) session.Identity { return e.Owner })
		}
	}
	cfg.Publish = func(m machine.Standing) { l.standing.Publish(standingOf(m)) }
	cfg.Ended = func(error) { l.standing.Close() }
	if l.instance, err = recipe.NewClaims(cfg); err != nil {
		return nil, failed(s, op, path, err)
	}
	return l, nil
}

// Done closes when the lock has ended: by Close, with its session, or because of a permanent
// failure. Err then says why.
func (l *Lock) Done() <-chan struct{} { return l.instance.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed, after Close or with
// the session, or the cause of the failure.
func (l *Lock) Err() error { return l.instance.Err() }

// Close ends the lock. It withdraws every intent and every waiting call (session.ErrClosed), ends
// the grants that are held (their Done closes with session.ErrClosed), and returns when ZooKeeper
// has confirmed the deletions. If ctx ends first its error is returned, and the deletions go on in
// the background until the epoch ends. It is idempotent.
func (l *Lock) Close(ctx context.Context) error {
	return failed(l.session, "close", l.path, l.instance.Close(ctx))
}
