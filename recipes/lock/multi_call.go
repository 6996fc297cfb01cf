package lock

import (
	"context"
	"errors"
	"slices"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// Lock waits until all locks are held. If a lock is lost while it waits for another, that lock and
// those after it in the order are acquired again. ctx bounds the wait, not the possession. If it
// ends first, or one lock cannot be acquired at all, the locks that were held are released, no
// grant comes of the call later, and the error is returned: ctx's cause, or that of [Lock.Lock].
// [ErrDeadlock] and [ErrUpgrade] are returned before anything is requested.
func (m *Multi) Lock(ctx context.Context) (*MultiGrant, error) {
	return m.lock(ctx, recipe.Asked{At: recipe.Caller()})
}

func (m *Multi) lock(ctx context.Context, by recipe.Asked) (*MultiGrant, error) {
	next := func(ctx context.Context, l *Lock) (*Grant, error) { return l.claim(ctx, "lock", false, by) }
	return m.take(ctx, next, func(held []*Grant) { giveUp(held) })
}

// TryLock acquires all locks if nobody is ahead in any of them, and returns [ErrHeld] otherwise. By
// then ZooKeeper has confirmed that nothing of this attempt is left, unless ctx ended first. It
// does not wait for other contenders, but others may find a lock held that this call has acquired
// and is about to release.
func (m *Multi) TryLock(ctx context.Context) (*MultiGrant, error) {
	by := recipe.Asked{At: recipe.Caller()}
	next := func(ctx context.Context, l *Lock) (*Grant, error) { return l.claim(ctx, "try lock", true, by) }
	return m.take(ctx, next, func(held []*Grant) { _ = release(ctx, held) })
}

// take acquires the locks one by one with next. If that fails, leave gets the grants that are held.
func (m *Multi) take(ctx context.Context, next func(context.Context, *Lock) (*Grant, error), leave func([]*Grant)) (*MultiGrant, error) {
	if err := m.refusal(ctx); err != nil {
		return nil, err
	}
	ctx, leaving := m.life.Within(ctx)
	defer leaving()
	var held []*Grant
	for {
		held = standing(held)
		if len(held) == len(m.locks) {
			g := newMultiGrant(held)
			if !m.note(g) {
				leave(held)
				return nil, m.life.Err()
			}
			if g.Err() == nil {
				return g, nil
			}
			continue // a part was lost at the last moment
		}
		g, err := under(ctx, held, func(ctx context.Context) (*Grant, error) { return next(ctx, m.locks[len(held)]) })
		switch {
		case err == nil:
			held = append(held, g)
		case ctx.Err() != nil || !lost(held):
			leave(held)
			return nil, err
		}
	}
}

// refusal finds a wait that could never end, before anything is requested.
func (m *Multi) refusal(ctx context.Context) error {
	for _, l := range m.locks {
		if err := l.endless(ctx); err != nil {
			return failed(l.session, "lock", l.path, err)
		}
	}
	return nil
}

// under calls wait with a context that ends with ctx or with the first of the grants.
func under(ctx context.Context, held []*Grant, wait func(context.Context) (*Grant, error)) (*Grant, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, g := range held {
		stop := context.AfterFunc(g.Context(), func() { cancel(g.Err()) })
		defer stop()
	}
	return wait(inner)
}

// standing are the grants before the first that has ended. The grants after it are released, so
// that all are acquired in order again.
func standing(held []*Grant) []*Grant {
	i := slices.IndexFunc(held, over)
	if i < 0 {
		return held
	}
	giveUp(held[i:])
	return held[:i:i]
}

func lost(held []*Grant) bool { return slices.ContainsFunc(held, over) }

func over(g *Grant) bool { return g.Err() != nil }

// Do acquires all locks, calls f, and releases them. f's context descends from ctx and ends with
// the grant. The locks are released only after f has returned, unless one was lost. In that case Do
// returns an error that is session.ErrLost, even if f returned nil. Otherwise it returns f's error,
// or why the locks could not be acquired, or why their release could not be confirmed.
func (m *Multi) Do(ctx context.Context, f func(ctx context.Context, g *MultiGrant) error) error {
	if f == nil {
		return failed(m.locks[0].session, "do", m.locks[0].path, errors.New("f: nil"))
	}
	g, err := m.lock(ctx, recipe.Asked{At: recipe.Caller(), Lasts: true})
	if err != nil {
		return err
	}
	released := false
	release := func() error {
		released = true
		rctx, cancel := recipe.Afterwards(ctx, g.Session())
		defer cancel()
		return g.Release(rctx)
	}
	defer func() { // f panicked, or ended its goroutine
		if !released {
			_ = release()
		}
	}()
	inner, cancel := session.Within(ctx, g.Hold)
	err = f(inner, g)
	cancel()
	if lost := g.Err(); lost != nil && !errors.Is(lost, session.ErrReleased) {
		released = true
		return errors.Join(err, failed(m.locks[0].session, "do", m.locks[0].path, lost))
	}
	return errors.Join(err, release())
}
