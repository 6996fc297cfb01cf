package look

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/session"
)

// Remove deletes the item with this id, whether it waits, is being processed or delayed. The error
// is session.ErrNoNode if there is none.
func (q Queue) Remove(ctx context.Context, id string) error {
	return q.RemoveWith(ctx, id, func(_ Entry, removal []session.Op) error {
		_, err := q.Session.Multi(ctx, removal...)
		return err
	})
}

// RemoveWith deletes an item in a transaction that the caller sends. One that moves meanwhile is
// searched for again, and so is one of which the answer was lost.
func (q Queue) RemoveWith(ctx context.Context, id string, transact func(e Entry, removal []session.Op) error) error {
	for lost := ""; ; {
		e, err := q.Find(ctx, id)
		if lost != "" && (errors.Is(err, session.ErrNoNode) || err == nil && e.GUID != lost) {
			return nil
		}
		ops, err := q.removal(ctx, e, err)
		if err != nil {
			return err
		}
		err = transact(e, ops)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.Is(err, session.ErrUnknownOutcome):
			lost = e.GUID
		case moved(err):
		default:
			return err
		}
	}
}

// Purge deletes the first n items, but for what changes meanwhile, and counts them.
func (q Queue) Purge(ctx context.Context, n int) (purged int, err error) {
	all, err := q.List(ctx, n, false)
	for _, e := range all {
		ops, failed := q.removal(ctx, e, err)
		if failed == nil {
			_, failed = q.Session.Multi(ctx, ops...)
		}
		if failed == nil {
			purged++
		} else if !moved(failed) {
			return purged, failed
		}
	}
	return purged, err
}

// moved tells whether somebody was, or may have been, faster.
func moved(err error) bool {
	is := func(e error) bool { return errors.Is(err, e) }
	return is(session.ErrBadVersion) || is(session.ErrNoNode) || is(session.ErrNodeExists) || is(session.ErrUnknownOutcome)
}

// removal deletes an item as it was read, its claim, and what stands for its id.
func (q Queue) removal(ctx context.Context, e Entry, err error) ([]session.Op, error) {
	if err != nil {
		return nil, err
	}
	ops := []session.Op{session.DeleteOp(e.path, e.version)}
	if e.Claimed {
		ops = append(ops, session.DeleteOp(q.Root.Claim(e.Bucket, e.Seq), -1))
	}
	if e.Record.ID == "" {
		return ops, nil
	}
	path, _ := q.Root.ID(e.Record.ID)
	guid, _, err := q.Session.Get(ctx, path)
	if err == nil && string(guid) == e.GUID {
		ops = append(ops, session.DeleteOp(path, -1))
	}
	return ops, ignoring(session.ErrNoNode, err)
}
