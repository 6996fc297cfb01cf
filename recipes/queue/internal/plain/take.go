package plain

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Take waits for an item that is not claimed, and deletes it: it is delivered at most once. If ctx
// ends while it is being deleted, it is for the next call.
func (q *Queue) Take(ctx context.Context) (Entry, error) {
	leave, err := q.enter()
	if err != nil {
		return Entry{}, err
	}
	defer leave()
	if e, ok := q.pop(); ok {
		return e, nil
	}
	var e Entry
	left := func() (found bool) {
		e, found = q.pop()
		return found
	}
	err = q.first(ctx, left, func(ctx context.Context, i item) (bool, error) {
		if err := q.tryTake(ctx, i); err != nil {
			return false, err
		}
		return left(), nil
	})
	return e, err
}

// first tries the items that can be taken, in order, and again after each change, until one is
// found, there or elsewhere. Callers wait for each other, so that they do not all compete for the
// same item.
func (q *Queue) first(ctx context.Context, elsewhere func() bool, try func(ctx context.Context, i item) (found bool, err error)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(q.open, func() { cancel(session.ErrClosed) })()
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	var entries, taken <-chan session.Children // they end with ctx
	for {
		if elsewhere() {
			return nil
		}
		found, next, err := q.tryAll(ctx, try)
		if found || err != nil {
			return err
		}
		if entries == nil { // most calls need no watch
			entries = q.session.WatchChildren(ctx, q.entries)
			if q.taken != "" {
				taken = q.session.WatchChildren(ctx, q.taken)
			}
		}
		var due <-chan time.Time
		if next > 0 {
			due = time.After(next)
		}
		open := true
		select {
		case _, open = <-entries:
		case _, open = <-taken:
		case <-due:
		case <-q.kept:
		case <-ctx.Done():
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case q.session.Err() != nil:
			return q.session.Err()
		case !open:
			return errors.New("the watch on the queue was given up")
		}
	}
}

// tryAll tries the items. If none was found, next is when the first of the others is due, 0 for
// never. The caller has the turn.
func (q *Queue) tryAll(ctx context.Context, try func(ctx context.Context, i item) (bool, error)) (found bool, next time.Duration, err error) {
	items := q.ahead
	q.ahead = nil
	if len(items) == 0 {
		items, err = q.free(ctx)
		if errors.Is(err, session.ErrNoNode) { // Java's offer fails if it makes it and another does too
			err = q.ensure(ctx, q.entries)
		}
		if err != nil {
			return false, 0, err
		}
	}
	for n, i := range items {
		if next = q.due(i); next > 0 {
			return false, next, nil
		}
		if found, err = try(ctx, i); err != nil {
			return false, 0, err
		}
		if found {
			if q.layout.fifo() {
				q.ahead = items[n+1:]
			}
			return true, 0, nil
		}
	}
	return false, 0, nil
}

// tryTake deletes an item and keeps what it holds, unless another is quicker or nothing can be made
// of it.
func (q *Queue) tryTake(ctx context.Context, i item) error {
	for {
		data, stat, err := q.session.Get(ctx, i.Path)
		if err != nil {
			return unless(err, session.ErrNoNode)
		}
		all, ok := q.layout.unwrap(data)
		if !ok {
			return nil
		}
		_, err = outlive(ctx, q, func(ctx context.Context) (struct{}, error) {
			err := q.delete(ctx, i, stat.Version)
			if err == nil {
				q.keep(i, all)
			}
			return struct{}{}, err
		}, q.wake)
		switch {
		case errors.Is(err, session.ErrBadVersion):
			continue // its data were changed
		case errors.Is(err, session.ErrUnknownOutcome) && q.session.Err() == nil && ctx.Err() == nil:
			return nil // at most once
		}
		return unless(err, session.ErrNoNode, session.ErrNotEmpty, session.ErrNodeExists)
	}
}

// delete deletes an item that is not claimed.
func (q *Queue) delete(ctx context.Context, i item, version int32) error {
	ops := []session.Op{session.DeleteOp(i.Path, version)}
	if q.taken == "" {
		_, err := q.once(ctx, 0, ops...)
		return err
	}
	claim := znode.Join(q.taken, i.Name)
	ops = append(ops, session.CreateOp(claim, nil), session.DeleteOp(claim, -1))
	for {
		w, err := q.once(ctx, 0, ops...)
		if !errors.Is(err, session.ErrNoNode) || w.failed(0) {
			return err
		}
		if err := q.ensure(ctx, q.taken); err != nil {
			return err
		}
	}
}

// unless is an error that is none of these.
func unless(err error, these ...error) error {
	for _, e := range these {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

// keep keeps what an item held for those who take.
func (q *Queue) keep(i item, all [][]byte) {
	q.mu.Lock()
	for _, data := range all {
		e := i.Entry
		e.Data = data
		q.left = append(q.left, e)
	}
	q.mu.Unlock()
}

// wake lets a call that waits look for what another has left.
func (q *Queue) wake(struct{}) {
	select {
	case q.kept <- struct{}{}:
	default:
	}
}

func (q *Queue) pop() (Entry, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.left) == 0 {
		return Entry{}, false
	}
	e := q.left[0]
	q.left = q.left[1:]
	return e, true
}

// outlive calls f, which goes on if ctx ends: then late gets what comes of it.
func outlive[T any](ctx context.Context, q *Queue, f func(ctx context.Context) (T, error), late func(T)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome)
	q.calls.Go(func() { // ends with f, and that with Close or the session
		v, err := f(q.life)
		select {
		case done <- outcome{v, err}:
		case <-ctx.Done():
			if err == nil {
				late(v)
			}
		}
	})
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
