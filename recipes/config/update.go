package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/internal/presence"
	"github.com/troupe-go/troupe/session"
)

// Update changes the value by compare-and-set: f gets the current value, or the zero value if there
// is none, and returns the new one. If another update came first, f is called again with that
// value, so it must only compute. It may modify its argument. An error of f ends the update, and
// nothing is changed; then the value that f got may have been some milliseconds old, if the session
// is connected to the leader (session.Session.Sync). If the znode does not exist it is created,
// with its parents.
//
// Update returns the value as it was written; [Cell.Load] shows it, or a newer one, within a round
// trip. Errors: that of f, with errors.Is; [ErrBadData]; [ErrRecreated]; session.ErrTooLarge; those
// of ZooKeeper; ctx's cause, together with session.ErrUnknownOutcome if the update may have been
// carried out. If the reply was lost, Update reads whether it was carried out. Only if the session
// ended too, and the value has changed meanwhile, that can't be known: session.ErrUnknownOutcome.
func (c *Cell[T]) Update(ctx context.Context, f func(T) (T, error)) (Snapshot[T], error) {
	const op = "update"
	ctx = znode.Making(ctx, c.acl)
	var none Snapshot[T]
	if f == nil {
		return none, recipe.Failed(c.session, op, c.path, errors.New("f: nil"))
	}
	for made := 0; ; {
		if err := c.Err(); err != nil {
			return none, recipe.Failed(c.session, op, c.path, err)
		}
		u, err := c.prepare(ctx, f)
		if err != nil {
			return none, recipe.Failed(c.session, op, c.path, err)
		}
		s, again, err := u.write(ctx, &made)
		if !again {
			return s, recipe.Failed(c.session, op, c.path, err)
		}
	}
}

// update is one attempt: the value that was read, and the one that replaces it.
type update[T any] struct {
	*Cell[T]
	exists bool
	seen   session.Stat
	value  T
	data   []byte
	marker string // exists if the attempt was carried out, until its reply has come
}

// prepare syncs, reads the value and computes the new one.
func (c *Cell[T]) prepare(ctx context.Context, f func(T) (T, error)) (*update[T], error) {
	if err := c.session.Sync(ctx, c.path); err != nil {
		return nil, err
	}
	u := &update[T]{Cell: c, marker: znode.Join(c.path, znode.Protect(znode.NewGUID(), "update"))}
	data, stat, err := c.session.Get(ctx, c.path)
	var old T
	switch {
	case errors.Is(err, session.ErrNoNode):
	case err != nil:
		return nil, err
	default:
		u.exists, u.seen = true, stat
		if old, err = decode(c.codec, data); err != nil {
			return nil, err
		}
	}
	if u.value, err = f(old); err != nil {
		return nil, err
	}
	if u.data, err = c.codec.Encode(u.value); err != nil {
		return nil, fmt.Errorf("the new value: %w", err)
	}
	return u, nil
}

// write writes the new value if nothing has changed since the read. It tells whether the update has
// to try again: the value has changed, or the znodes above it were missing, and were made. made
// counts how often that was.
//
// A set leaves no trace of its author. To be able to resolve a lost reply, the same transaction
// creates a marker, which is deleted afterwards.
func (u *update[T]) write(ctx context.Context, made *int) (s Snapshot[T], again bool, err error) {
	first := session.CreateOp(u.path, u.data)
	if u.exists {
		first = session.SetOp(u.path, u.data, u.seen.Version)
	}
	epoch := u.session.Status().Epoch
	results, err := u.session.Multi(ctx, first, session.CreateOp(u.marker, nil, session.Ephemeral()))
	switch {
	case err == nil:
		u.sweep(ctx)
		if u.exists {
			s, err = u.written(results[0].Stat)
		} else {
			s, err = u.readCreated(ctx)
		}
		return s, false, err
	case errors.Is(err, session.ErrUnknownOutcome):
		unknown := err
		if s, again, err = u.resolve(ctx, epoch); err != nil && ctx.Err() != nil {
			u.abandon(ctx)
			err = unknown
		}
		return s, again, err
	case errors.Is(err, session.ErrBadVersion), errors.Is(err, session.ErrNodeExists), errors.Is(err, session.ErrNoNode) && u.exists:
		return s, true, nil
	case errors.Is(err, session.ErrNoNode):
		*made++
		err = recipe.EnsureAbove(ctx, u.session, u.path, *made)
		return s, err == nil, err
	case errors.Is(err, session.ErrTooLarge):
		err = fmt.Errorf("the new value: %w", err)
	}
	return s, false, err
}

// sweep deletes the marker; in the background if the caller does not wait for it.
func (u *update[T]) sweep(ctx context.Context) {
	if !u.swept(ctx) {
		u.abandon(ctx)
	}
}

// swept deletes the marker reliably; false if ctx has ended before. The marker may be gone with its
// session.
func (u *update[T]) swept(ctx context.Context) bool {
	for {
		err := u.session.Delete(ctx, u.marker, -1)
		switch {
		case ctx.Err() != nil:
			return false
		case !errors.Is(err, session.ErrUnknownOutcome):
			return true
		}
	}
}

// abandon deletes the marker of an attempt for which the caller did not wait. The delete goes
// behind all that is still in flight on the connection.
func (u *update[T]) abandon(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // ctx has ended; now the end of the session or of the cell ends the wait
	u.sweeping.Go(func() {           // owned by the cell
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stop := context.AfterFunc(u.life, cancel)
		defer stop()
		u.swept(ctx)
	})
}

// written is the state after the update was carried out.
func (u *update[T]) written(stat session.Stat) (Snapshot[T], error) {
	s := Snapshot[T]{Value: u.value, Present: true, Czxid: stat.Czxid, Mzxid: stat.Mzxid, Version: stat.Version}
	if u.exists && stat.Czxid != u.seen.Czxid {
		return s, ErrRecreated
	}
	return s, nil
}

// readCreated reads the znode's state, which the reply to a create does not contain. If the value
// was changed or deleted since, the update was carried out all the same.
func (u *update[T]) readCreated(ctx context.Context) (Snapshot[T], error) {
	data, stat, err := u.session.Get(ctx, u.path)
	if err == nil && stat.Version == 0 && bytes.Equal(data, u.data) {
		return u.written(stat)
	}
	return Snapshot[T]{Value: u.value, Present: true}, nil
}

// resolve finds out the outcome of an attempt whose reply was lost. The attempt is not in flight
// any more, and reads are up to date. In a later epoch the marker is gone: the value has to tell.
func (u *update[T]) resolve(ctx context.Context, epoch uint64) (s Snapshot[T], again bool, err error) {
	marked, err := presence.Of(ctx, u.session, u.marker)
	if err != nil {
		return s, false, err
	}
	data, stat, err := u.session.Get(ctx, u.path)
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return s, false, err
	}
	there := err == nil
	version := int32(0) // that the znode has if this attempt was the last write
	if u.exists {
		version = u.seen.Version + 1
	}
	unchanged := there == u.exists && (!there || stat.Mzxid == u.seen.Mzxid)
	sameZnode := there && (!u.exists || stat.Czxid == u.seen.Czxid)
	writtenOnce := sameZnode && stat.Version == version // since the value was read
	switch {
	case marked:
		u.sweep(ctx)
		if writtenOnce {
			s, err = u.written(stat)
			return s, false, err
		}
		return Snapshot[T]{Value: u.value, Present: true}, false, nil // carried out, and others have written since
	case u.session.Status().Epoch == epoch:
		return s, true, nil // not carried out: the marker would exist
	case unchanged:
		return s, true, nil // the marker may be gone with its session, but nothing was written
	case writtenOnce && !bytes.Equal(data, u.data):
		return s, true, nil // the value is another client's
	}
	return s, false, session.ErrUnknownOutcome
}
