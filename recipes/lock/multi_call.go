package lock

import (
	"context"
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/host"
	"github.com/troupe-go/troupe/session"
)

// Lock waits until all locks are held. A lock that is lost while it waits for another is taken
// again, and so are those behind it in the order. ctx bounds the wait, not the possession; if it
// ends first, or one lock cannot be had at all, those that were held are given up, nothing comes of
// it later, and the error is returned: ctx's cause, or what [Lock.Lock] of that one says.
// [ErrDeadlock] and [ErrUpgrade] are found before anything is asked for.
func (m *Multi) Lock(ctx context.Context) (*MultiGrant, error) {
	return m.lock(ctx, host.Asked{At: host.Caller()})
}

func (m *Multi) lock(ctx context.Context, by host.Asked) (*MultiGrant, error) {
	next := func(ctx context.Context, l *Lock) (*Grant, error) { return l.claim(ctx, "lock", false, by) }
	return m.take(ctx, next, func(held []*Grant) { giveUp(held) })
}

// TryLock holds all locks if nobody is ahead in any of them, and returns [ErrHeld] otherwise: by
// then ZooKeeper has confirmed that nothing of this try is left, unless ctx ended first. It waits
// for nobody, but others may find a lock held that this call has taken and is about to give up.
func (m *Multi) TryLock(ctx context.Context) (*MultiGrant, error) {
	by := host.Asked{At: host.Caller()}
	next := func(ctx context.Context, l *Lock) (*Grant, error) { return l.claim(ctx, "try lock", true, by) }
	return m.take(ctx, next, func(held []*Grant) { _ = release(ctx, held) })
}

// take takes the locks one by one with next. What is held when that fails goes to leave.
func (m *Multi) take(ctx context.Context, next func(context.Context, *Lock) (*Grant, error), leave func([]*Grant)) (*MultiGrant, error) {
	if err := m.refusal(ctx); err != nil {
		return nil, err
	}
	var held []*Grant
	for {
		held = standing(held)
		if len(held) == len(m.locks) {
			g := newMultiGrant(held)
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

// refusal finds a wait that could never end, before anything is waited for.
func (m *Multi) refusal(ctx context.Context) error {
	for _, l := range m.locks {
		if err := l.endless(ctx); err != nil {
			return failed("lock", l.path, err)
		}
	}
	return nil
}

// under waits in a context that ends with ctx or with the first of the grants.
func under(ctx context.Context, held []*Grant, wait func(context.Context) (*Grant, error)) (*Grant, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, g := range held {
		stop := context.AfterFunc(g.Context(), func() { cancel(g.Err()) })
		defer stop()
	}
	return wait(inner)
}

// standing are the grants before the first that is over. Those behind it are given up, or the order
// in which all are taken would not be kept.
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

// Do runs f while holding all locks. f's context descends from ctx and ends with the grant. The
// locks are given up only after f has returned, unless one was lost; then Do returns an error that
// is session.ErrLost, also if f returned nil. Otherwise it returns f's error, or why the locks
// could not be had or their release not be confirmed.
func (m *Multi) Do(ctx context.Context, f func(ctx context.Context, g *MultiGrant) error) error {
	if f == nil {
		return failed("do", m.locks[0].path, errors.New("f: nil"))
	}
	g, err := m.lock(ctx, host.Asked{At: host.Caller(), Lasts: true})
	if err != nil {
		return err
	}
	released := false
	release := func() error {
		released = true
		rctx, cancel := host.Afterwards(ctx, g.Session())
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
		return errors.Join(err, failed("do", m.locks[0].path, lost))
	}
	return errors.Join(err, release())
}
