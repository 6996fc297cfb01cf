package queue

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
	"github.com/troupe-go/troupe/session"
)

// Put adds an item at the end of its priority, and returns its id: the one given with WithID, or a
// generated one. When it returns without an error, the item is in ZooKeeper, behind every item of
// its priority whose Put had returned before this one began. Concurrent puts share a transaction.
//
// Errors: ErrFull, ErrDuplicate, session.ErrTooLarge and, with Under, session.ErrLost mean that
// nothing was put. If ctx ends before anything was sent, its cause is returned; if it ends later,
// session.ErrUnknownOutcome comes with it. A lost reply is not an error: Put reads whether the item
// was put. Only if the session has expired meanwhile, and the next one did not begin within a
// minute or so, the error is session.ErrUnknownOutcome; with WithID, such a Put can be repeated.
func (q *Queue) Put(ctx context.Context, data []byte, opts ...PutOption) (id string, err error) {
	ids, err := q.put(ctx, [][]byte{data}, opts)
	if err != nil {
		return "", recipe.Failed(q.session, "put", q.path, err)
	}
	return ids[0], nil
}

// PutAll adds several items, in their order, in one transaction: all of them or none. The options
// apply to each of them. Otherwise it is like Put.
func (q *Queue) PutAll(ctx context.Context, items [][]byte, opts ...PutOption) ([]string, error) {
	if len(items) == 0 {
		return nil, recipe.Failed(q.session, "put all", q.path, errors.New("items: none given"))
	}
	ids, err := q.put(ctx, items, opts)
	return ids, recipe.Failed(q.session, "put all", q.path, err)
}

func (q *Queue) put(ctx context.Context, data [][]byte, opts []PutOption) ([]string, error) {
	o, err := putOptionsOf(q, len(data), opts)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case o.under != nil && o.under.Err() != nil:
		return nil, lost(o.under.Err())
	}
	put := produce.Put{Delay: milliseconds(o.delay), Ephemeral: o.ephemeral, With: o.guard}
	for _, d := range data {
		put.Items = append(put.Items, layout.Record{About: layout.About{ID: o.id, Headers: o.headers, Priority: o.priority}, Body: d})
	}
	ids, err := q.puts.Begin(put).Wait(ctx)
	switch {
	case err != nil && o.under != nil && o.under.Err() != nil && errors.Is(err, session.ErrLost):
		return nil, lost(o.under.Err())
	case err == nil && o.id != "":
		return []string{o.id}, nil
	}
	return ids, err
}

// milliseconds rounds up: nothing is early.
func milliseconds(d time.Duration) int64 {
	return d.Milliseconds() + int64(max(0, min(d%time.Millisecond, 1)))
}
