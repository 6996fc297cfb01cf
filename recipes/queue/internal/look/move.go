package look

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/session"
)

// Remove deletes the item with this id, whether it waits, is being processed or delayed. The error
// is session.ErrNoNode if there is none.
func (q Queue) Remove(ctx context.Context, id string) error {
	return q.take(ctx, id, func(Entry) ([]session.Op, error) { return nil, nil })
}

// Requeue puts the dead letter with this id at the end of its priority, in one transaction, as if
// nobody had received it. Errors: session.ErrNoNode, [ErrDuplicate], [ErrFull].
func (q Queue) Requeue(ctx context.Context, dead layout.Root, id string) error {
	return Queue{q.Session, dead}.take(ctx, id, func(e Entry) ([]session.Op, error) { return q.put(ctx, e) })
}

// take deletes an item, in one transaction with what else is to be done. One that moves meanwhile
// is searched for again, and so is one of which the answer was lost.
func (q Queue) take(ctx context.Context, id string, besides func(Entry) ([]session.Op, error)) error {
	for lost := ""; ; {
		e, err := q.find(ctx, id)
		if lost != "" && (errors.Is(err, session.ErrNoNode) || err == nil && e.GUID != lost) {
			return nil
		}
		ops, err := q.removal(ctx, e, err)
		if err != nil {
			return err
		}
		more, err := besides(e)
		if err != nil {
			return err
		}
		_, err = q.Session.Multi(ctx, append(ops, more...)...)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.Is(err, session.ErrUnknownOutcome):
			lost = e.GUID
		case errors.Is(err, session.ErrBadVersion), errors.Is(err, session.ErrNoNode), errors.Is(err, session.ErrNodeExists): // somebody was faster
		default:
			return err
		}
	}
}

// removal deletes an item as it was read, its claim, and what stands for its id.
func (q Queue) removal(ctx context.Context, e Entry, err error) ([]session.Op, error) {
	if err != nil {
		return nil, err
	}
	ops := []session.Op{session.DeleteOp(e.path, e.version)}
	claim := q.Root.Claim(e.Bucket, e.Seq)
	_, claimed, err := q.Session.Exists(ctx, claim)
	if claimed && !e.Bucket.Lane.Later {
		ops = append(ops, session.DeleteOp(claim, -1))
	}
	if e.Record.ID == "" || err != nil {
		return ops, err
	}
	path, _ := q.Root.ID(e.Record.ID)
	guid, _, err := q.Session.Get(ctx, path)
	if err == nil && string(guid) == e.GUID {
		ops = append(ops, session.DeleteOp(path, -1))
	}
	return ops, ignoring(session.ErrNoNode, err)
}

// put appends a dead letter to its lane. It seals no bucket: how many that has had is not known
// here.
func (q Queue) put(ctx context.Context, e Entry) ([]session.Op, error) {
	id, parent := q.Root.ID(e.ID)
	for _, path := range []string{q.Root.Items(), q.Root.Claims(), q.Root.Later(), q.Root.Bell(), parent} {
		if err := q.Session.EnsurePath(ctx, path); err != nil {
			return nil, err
		}
	}
	ops, err := q.room(ctx)
	if e.Record.ID != "" {
		if _, there, err := q.Session.Exists(ctx, id); err != nil || there {
			return nil, errors.Join(err, ErrDuplicate)
		}
		ops = append(ops, session.CreateOp(id, []byte(e.GUID)))
	}
	open, there := layout.Bucket{Lane: layout.Lane{Priority: e.Priority}}, false
	for _, b := range list(ctx, q, q.Root.Items(), layout.ParseBucket, layout.Bucket.Compare, &err) {
		if b.Lane == open.Lane {
			open, there = b, true
		}
	}
	if err != nil {
		return nil, err
	}
	if there {
		ops = append(ops, session.CheckOp(q.Root.Bucket(open), 0))
	} else {
		ops = append(ops, session.CreateOp(q.Root.Bucket(open), nil), session.CreateOp(q.Root.ClaimsOf(open), nil))
	}
	e.Attempts = 0
	path := znode.Join(q.Root.Bucket(open), layout.Item{GUID: e.GUID}.Head())
	return append(ops, session.CreateOp(path, e.Write(), session.Sequential()), session.SetOp(q.Root.Bell(), nil, -1)), nil
}

// room takes room for one item, if the queue has a capacity. What was acknowledged since it was
// last counted is not subtracted yet: a queue that seems full is counted.
func (q Queue) room(ctx context.Context) ([]session.Op, error) {
	data, stat, err := q.Session.Get(ctx, q.Root.Size())
	if err != nil {
		return nil, ignoring(session.ErrNoNode, err)
	}
	moved, _, err := q.Session.Exists(ctx, q.Root.Later())
	size, ok := layout.ParseSize(data)
	if err == nil && (!ok || size.Items >= size.Capacity) {
		size.Items, err = q.Len(ctx)
	}
	if err == nil && size.Items >= size.Capacity {
		err = ErrFull
	}
	size.Items++
	return []session.Op{session.SetOp(q.Root.Size(), size.Write(), stat.Version), session.CheckOp(q.Root.Later(), moved.Version)}, err
}
