package look

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
	"github.com/troupe-go/troupe/session"
)

// Remove deletes the item with this id, whether it waits, is being processed or delayed. The error
// is session.ErrNoNode if there is none.
func (q Queue) Remove(ctx context.Context, id string) error {
	lost := "" // the GUID of one the answer to whose removal was lost
	for {
		guid, ops, err := q.removal(ctx, id)
		switch {
		case errors.Is(err, errMoved):
			continue
		case err != nil:
			return err
		case lost != "" && (ops == nil || guid != lost): // it is gone; an item with its id was put since
			return nil
		case ops == nil:
			return fmt.Errorf("id: %w: %q", session.ErrNoNode, id)
		}
		_, err = q.Session.Multi(ctx, ops...)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, session.ErrUnknownOutcome) && ctx.Err() == nil:
			lost = guid
		case errors.Is(err, session.ErrBadVersion): // somebody was faster: look again
		case errors.Is(err, session.ErrNoNode):
			if err := q.prepare(ctx); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// errMoved: the item was on its way when it was looked for.
var errMoved = errors.New("it has moved meanwhile")

// prepare makes what a removal needs, in case that this is why it has failed.
func (q Queue) prepare(ctx context.Context) error {
	for _, path := range []string{q.Root.Cursor(), q.Root.Marks()} {
		_, err := q.Session.Create(ctx, path, nil, session.Parents())
		switch {
		case err == nil, errors.Is(err, session.ErrNodeExists):
		case errors.Is(err, session.ErrUnknownOutcome) && ctx.Err() == nil: // the next attempt shows
		default:
			return err
		}
	}
	return nil
}

// removal is the transaction that removes an item, and the item's GUID; nil if there is none.
func (q Queue) removal(ctx context.Context, id string) (guid string, ops []session.Op, err error) {
	st, err := q.read(ctx)
	if err != nil {
		return "", nil, err
	}
	named := false
	data, _, err := q.Session.Get(ctx, q.Root.ID(id))
	switch {
	case err == nil:
		guid, named = string(data), true
	case errors.Is(err, session.ErrNoNode):
		guid = id
	default:
		return "", nil, err
	}
	for _, b := range st.buckets {
		names, err := q.children(ctx, q.Root.Bucket(b))
		if err != nil {
			return "", nil, err
		}
		for _, name := range names {
			z, ok := znodeOf(name, b.Lane)
			n := itemOf(z, guid)
			if !ok || n < 0 {
				continue
			}
			ops, err := q.without(ctx, st, b, name, z, n)
			if ops != nil && named {
				ops = append(ops, session.DeleteOp(q.Root.ID(id), -1))
			}
			if ops != nil || err != nil {
				return guid, ops, err
			}
		}
	}
	return guid, nil, nil
}

func znodeOf(name string, l place.Lane) (layout.Znode, bool) {
	if l.Later {
		d, ok := layout.ParseDelayed(name)
		return d.Znode, ok
	}
	return layout.ParseZnode(name)
}

// itemOf is which item of a znode has a GUID; -1: none.
func itemOf(z layout.Znode, guid string) int {
	for n := range z.Count { // 0 if it is none
		if z.Item(n) == guid {
			return n
		}
	}
	return -1
}

// without are the operations that remove the nth item of a znode; nil if it is settled, or in a
// znode of its own. They succeed only as long as the item is where it is.
func (q Queue) without(ctx context.Context, st *state, b place.Bucket, name string, z layout.Znode, n int) ([]session.Op, error) {
	path := znode.Join(q.Root.Bucket(b), name)
	data, stat, err := q.Session.Get(ctx, path)
	switch {
	case errors.Is(err, session.ErrNoNode):
		return nil, nil
	case err != nil:
		return nil, err
	}
	records, ok := layout.Unpack(data, z.Count)
	if !ok || records[n].Removed {
		return nil, nil
	}
	var ops []session.Op
	if !b.Lane.Later {
		e := layout.Whole(b, z)
		by, claimed := st.named[e.Position]
		switch {
		case z.Count == 1: // nobody settles it who does not delete it
		case claimed && by.entry.Left()&(1<<n) == 0:
			return nil, nil // settled
		case !claimed && !st.behind(b, z):
			return nil, q.settled(ctx, st)
		case claimed:
			ops = append(ops, by.guard)
		default:
			if err := q.Session.EnsurePath(ctx, q.Root.Cursor()); err != nil { // nothing was claimed yet
				return nil, err
			}
			ops = append(ops, session.CheckOp(q.Root.Cursor(), st.version))
		}
	}
	if z.Count == 1 {
		ops = append(ops, session.DeleteOp(path, stat.Version))
	} else {
		records[n] = layout.Record{Removed: true}
		mark := q.Root.Mark(layout.Whole(b, z).Position, n)
		ops = append(ops, session.SetOp(path, layout.Pack(records), stat.Version), session.CreateOp(mark, nil))
	}
	return q.giveBack(ctx, ops, z)
}

// settled is nil for an item that nobody names, unless it was on its way between those who could.
func (q Queue) settled(ctx context.Context, st *state) error {
	_, stat, err := q.Session.Children(ctx, q.Root.Returned())
	switch {
	case err != nil && !errors.Is(err, session.ErrNoNode):
		return err
	case stat.Cversion != st.moves:
		return errMoved
	}
	return nil
}

// giveBack adds the room that the item took.
func (q Queue) giveBack(ctx context.Context, ops []session.Op, z layout.Znode) ([]session.Op, error) {
	if !z.Room {
		return ops, nil
	}
	back := room.New(place.Root(q.Root), q.Home)
	part, _ := back.Home()
	data, stat, err := q.Session.Get(ctx, place.Root(q.Root).Stripe(part))
	switch {
	case errors.Is(err, session.ErrNoNode):
		return ops, nil
	case err != nil:
		return nil, err
	}
	back.Saw(part, data, stat.Version)
	op := back.Give(1).Op
	return append(ops, session.SetOp(op.Path, op.Data, op.Version)), nil
}
