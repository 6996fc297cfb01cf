package lock

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// Lock waits until the lock is held and returns a grant of the caller's own, which is not renewed
// after a loss. ctx bounds the wait, not the possession. If it ends first, the request leaves the
// queue, no grant comes of it later, and ctx's cause is returned. Other errors: [ErrDeadlock],
// [ErrUpgrade], session.ErrClosed, and those of ZooKeeper (session.ErrNoAuth, session.ErrTooLarge,
// …).
func (l *Lock) Lock(ctx context.Context) (*Grant, error) {
	return l.claim(ctx, "lock", false, recipe.Asked{At: recipe.Caller()})
}

// TryLock acquires the lock if nobody is ahead and returns [ErrHeld] otherwise. ZooKeeper's order
// decides that, not a timer. ctx bounds the round trips, and the wait for a connection if there is
// none.
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
	inner, cancel := session.Within(ctx, g.Hold)
	err = f(inner, g)
	cancel()
	if lost := g.last().lost(); lost != nil {
		released = true
		return errors.Join(err, failed(l.session, "do", l.path, lost))
	}
	return errors.Join(err, release())
}
