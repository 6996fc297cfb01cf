package lock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/internal/contend"
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
	status   *notify.Topic[Status]
	acl      []session.ACL // of WithACL
	warns    bool          // WithHeldWarning was given
	follows  atomic.Bool   // SetLimit was called
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
	l := &Lock{session: s, path: path, kind: k, status: notify.NewTopic[Status](), acl: o.claims.ACL, warns: o.warns}
	l.status.Publish(Status{})
	if permits, is := k.rule.(*contend.Permits); is {
		permits.Follows = l.follows.Load
	}
	cfg := o.claims
	cfg.Session, cfg.Kind, cfg.Path = s, "lock", path
	cfg.Name, cfg.Form, cfg.Parent = k.name, k.form, k.limit()
	if o.layout == Troupe {
		cfg.Data = append([]byte(znode.Identity(recipe.Identity(s)).Note()), znode.Shield(cfg.Data)...)
	}
	cfg.Machine = func() machine.Machine { return k.machine(path, cfg.Data) }
	if k.form != znode.Alone { // then others leave no trace
		cfg.Waiting = l.waiting
		cfg.Holder = func(ctx context.Context) (recipe.Holder, error) {
			return contenders.Holder(ctx, s, path, func(e contenders.Entry) session.Identity { return e.Owner })
		}
	}
	cfg.State = func(m machine.Standing) string { return statusOf(m).State.String() }
	cfg.Publish = func(m machine.Standing) { l.status.Publish(statusOf(m)) }
	cfg.Ended = l.ended
	if l.instance, err = recipe.NewClaims(cfg, l.wrap); err != nil {
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

// ended publishes how the lock ended, as its last status.
func (l *Lock) ended(err error) {
	last := Status{State: Failed}
	if errors.Is(err, session.ErrClosed) {
		last.State = Stopped
	}
	l.status.Publish(last)
	l.status.Close()
}

// Acquire states the intent to hold the lock, and returns at once. The intent survives
// disconnection, expiry and loss: it lasts, in every epoch, until [Lock.Withdraw] or [Lock.Close].
// Calling it again has no effect.
func (l *Lock) Acquire() { l.instance.Stand(recipe.Asked{At: recipe.Caller(), Lasts: !l.warns}) }

// Grant is the grant that this Lock holds now, from any of its calls; nil if it holds none, or as
// long as the one that was won has not been received. Of several, as a semaphore may have, it is
// the one that was asked for first. Grant never blocks, and only reads: the possession stays with
// its receiver.
func (l *Lock) Grant() *Grant {
	g, _ := l.instance.Held()
	return g
}

// Acquired delivers one [Grant] each time the standing intent wins. The channel is the same every
// time, unbuffered, and never closes. A grant goes to exactly one receiver, and is withdrawn if it
// ends before it is received. The grant before it has ended then, also if a select that has both
// ready takes this one first. Select on [Lock.Done] as well.
func (l *Lock) Acquired() <-chan *Grant { return l.instance.Won() }

// Withdraw ends the standing intent, whether it waits or holds, and returns when ZooKeeper has
// confirmed that none of its znodes is left. A grant of the intent ends first, with
// session.ErrReleased. If ctx ends first its error is returned, and the deletion goes on in the
// background until the epoch ends. Without a standing intent Withdraw does nothing. Grants of
// [Lock.Lock] are not affected.
func (l *Lock) Withdraw(ctx context.Context) error {
	return failed(l.session, "withdraw", l.path, l.instance.StandDown(ctx))
}

// Lock waits until the lock is held and returns a grant of the caller's own, which is not renewed
// after a loss. ctx bounds the wait, not the possession. If it ends first, the request leaves the
// queue, no grant comes of it later, and ctx's cause is returned. Other errors: [ErrDeadlock],
// [ErrUpgrade], session.ErrClosed, and those of ZooKeeper (session.ErrNoAuth, session.ErrTooLarge,
// …).
func (l *Lock) Lock(ctx context.Context) (*Grant, error) {
	return l.claim(ctx, "lock", false, recipe.Asked{At: recipe.Caller()})
}

// TryLock acquires the lock if no contender is ahead and returns [ErrHeld] otherwise. ZooKeeper's
// order decides that, not a timer. ctx bounds the round trips, and the wait for a connection if
// there is none.
func (l *Lock) TryLock(ctx context.Context) (*Grant, error) {
	return l.claim(ctx, "try lock", true, recipe.Asked{At: recipe.Caller()})
}

func (l *Lock) claim(ctx context.Context, op string, try bool, by recipe.Asked) (*Grant, error) {
	if err := l.endless(ctx); err != nil {
		return nil, failed(l.session, op, l.path, err)
	}
	g, err := l.instance.Claim(ctx, try, by) // nil with an error
	return g, failed(l.session, op, l.path, err)
}

// endless finds a wait that could never end: ctx descends from the context of a grant on the same
// path.
func (l *Lock) endless(ctx context.Context) error {
	h := l.instance.HoldIn(ctx)
	switch {
	case h == nil:
		return nil
	case l.kind.of == znode.Write && kindOf(h.Path()) == znode.Read:
		return ErrUpgrade
	}
	return ErrDeadlock
}

// kindOf is the kind of the contender at a path.
func kindOf(path string) znode.Kind {
	_, name := znode.Split(path)
	c, _ := znode.ParseContender(name)
	return c.Kind
}

// Do acquires the lock, calls f, and releases the lock. f's context descends from ctx and ends with
// the grant. The znode is deleted only after f has returned, so no other contender is granted the
// lock while f runs, unless it was lost. In that case Do returns an error that is session.ErrLost,
// even if f returned nil. Otherwise it returns f's error, or why the lock could not be acquired, or
// why its release could not be confirmed. If f downgrades its grant, all of this applies to the new
// grant; f's context ends with the first one.
func (l *Lock) Do(ctx context.Context, f func(ctx context.Context, g *Grant) error) error {
	if f == nil {
		return failed(l.session, "do", l.path, errors.New("f: nil"))
	}
	g, err := l.claim(ctx, "lock", false, recipe.Asked{At: recipe.Caller(), Lasts: true})
	if err != nil {
		return err
	}
	released := false
	release := func() error {
		released = true
		rctx, cancel := recipe.Afterwards(ctx, l.session)
		defer cancel()
		return g.last().Release(rctx)
	}
	defer func() { // f panicked, or ended its goroutine
		if !released {
			_ = release()
		}
	}()
	inner, cancel := recipe.Within(ctx, g.Hold)
	err = f(inner, g)
	cancel()
	if lost := g.last().lost(); lost != nil {
		released = true
		return errors.Join(err, failed(l.session, "do", l.path, lost))
	}
	return errors.Join(err, release())
}

var (
	// ErrHeld is returned by TryLock: another contender is ahead in ZooKeeper's order, or another
	// goroutine on the same instance.
	ErrHeld = machine.ErrHeld

	// ErrDeadlock refuses a wait that could never end: the context descends from the context of a
	// grant on the same path.
	ErrDeadlock = errors.New("already held by the caller's own context")

	// ErrUpgrade refuses to turn a read grant into a write grant: the context of a wait for the
	// write side descends from the context of a grant of the read side. Two readers that both did
	// that would wait for each other forever. Release the read grant, then acquire the write side.
	ErrUpgrade = errors.New("a read grant cannot be upgraded")

	// ErrLimit is returned by semaphores: the limit in ZooKeeper differs from the one that an
	// instance was created with, when it first reads it; or the limit has become less than the
	// instance's weight; or the path's data are not a limit.
	ErrLimit = contend.ErrLimit
)

// failed wraps an error with the operation and the path. Errors of the session are wrapped already.
func failed(s *session.Session, op, path string, err error) error {
	return recipe.Failed(s, op, path, err)
}
