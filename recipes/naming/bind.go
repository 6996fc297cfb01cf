package naming

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// BindOption configures Bind.
type BindOption func(*bindOptions) error

type bindOptions struct{ keep bool } // keep: an earlier binding stays

// WithoutReplacing binds the name only if it is not bound; otherwise [ErrBound].
func WithoutReplacing() BindOption {
	return func(o *bindOptions) error { o.keep = true; return nil }
}

// Bind binds a name to a value, which must not be empty, replacing any earlier binding. Errors:
// invalid arguments; [ErrBound]; session.ErrTooLarge; those of ZooKeeper; ctx's cause, together
// with session.ErrUnknownOutcome if the change may have been carried out. session.ErrUnknownOutcome
// alone means that the reply was lost, the session has expired too, and the name had no znode
// before or has been changed since, so that the outcome can't be known.
func (n *Names) Bind(ctx context.Context, name string, value []byte, opts ...BindOption) error {
	ctx, leave := n.life.Within(ctx)
	defer leave()
	const op = "bind"
	path, err := n.path(op, "name", name)
	if err != nil {
		return err
	}
	if len(value) == 0 {
		return recipe.Failed(n.session, op, path, errors.New("value: empty"))
	}
	var o bindOptions
	if err := recipe.Apply(&o, opts); err != nil {
		return recipe.Failed(n.session, op, path, err)
	}
	if o.keep { // a refusal must not rest on a stale read
		if err := n.session.SyncQuorum(ctx, path); err != nil {
			return recipe.Failed(n.session, op, path, err)
		}
	}
	for made := 0; ; {
		b, err := n.read(ctx, name, path)
		if err == nil && o.keep && b.Bound {
			err = ErrBound
		}
		if err != nil {
			return recipe.Failed(n.session, op, path, err)
		}
		again, err := n.write(ctx, b, path, value, &made)
		if !again {
			return recipe.Failed(n.session, op, path, err)
		}
	}
}

// write binds a name with the state that was read. It tells whether Bind has to read again: the
// state has changed, or the znodes above the name were missing, and were made. made counts how
// often that was.
func (n *Names) write(ctx context.Context, seen Binding, path string, value []byte, made *int) (again bool, err error) {
	exists := seen.Czxid != 0
	ops := []session.Op{session.CreateOp(path, nil), session.SetOp(path, value, 0)}
	if exists {
		ops = set(path, value, seen.Version)
	}
	err = n.once(ctx, seen, path, ops...)
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, session.ErrNoNode) && !exists:
		*made++
		err = recipe.EnsureAbove(ctx, n.session, path, *made)
		return err == nil, err
	case changed(err):
		return true, nil // the next read is not stale: the failed transaction's answer came after the change
	case errors.Is(err, session.ErrTooLarge):
		err = fmt.Errorf("value: %w", err)
	}
	return false, err
}

// set writes the data of a znode of this version, and leaves an odd version if the data are a
// value, an even one if there are none.
//
// A znode that is deleted and created again has the versions of the former one, so a version alone
// would not tell a binding that was made meanwhile from the parent that was read. Since a bound
// znode's version is odd and a parent's is even, a change that names the version of one can't be
// carried out on the other. The version may belong to another binding than the one that was read,
// or to another parent: then the change does to that one what it would have done to the first.
func set(path string, data []byte, version int32) []session.Op {
	bound, odd := len(data) > 0, (version+1)&1 == 1
	if odd != bound { // one write more, and the parity is right
		return []session.Op{session.SetOp(path, nil, version), session.SetOp(path, data, version+1)}
	}
	return []session.Op{session.SetOp(path, data, version)}
}

// Unbind removes the binding of a name, and the znodes that are no longer needed. Errors:
// [ErrNotBound]; session.ErrInvalidPath; those of ZooKeeper; ctx's cause and
// session.ErrUnknownOutcome, as with Bind.
func (n *Names) Unbind(ctx context.Context, name string) error {
	ctx, leave := n.life.Within(ctx)
	defer leave()
	const op = "unbind"
	path, err := n.path(op, "name", name)
	if err != nil {
		return err
	}
	if err := n.session.SyncQuorum(ctx, path); err != nil {
		return recipe.Failed(n.session, op, path, err)
	}
	for {
		b, err := n.read(ctx, name, path)
		if err == nil && !b.Bound {
			err = ErrNotBound
		}
		if err != nil {
			return recipe.Failed(n.session, op, path, err)
		}
		switch err = n.erase(ctx, b, path); {
		case err == nil:
			n.prune(ctx, path)
			return nil
		case !changed(err):
			return recipe.Failed(n.session, op, path, err)
		}
	}
}

// erase deletes a name's znode, or only its data if there are names below it.
func (n *Names) erase(ctx context.Context, seen Binding, path string) error {
	err := n.once(ctx, seen, path, session.DeleteOp(path, seen.Version))
	if errors.Is(err, session.ErrNotEmpty) {
		err = n.once(ctx, seen, path, set(path, nil, seen.Version)...)
	}
	return err
}

// prune deletes the znode at a path, and its parents, as long as they are not bound and have no
// children. ZooKeeper refuses to delete a znode with children, and the version protects one that
// has been bound meanwhile: see set. A failure is ignored: the znode does no harm, and the next
// Unbind tries again.
func (n *Names) prune(ctx context.Context, path string) {
	for _, at := range append([]string{path}, n.parents(path)...) {
		data, stat, err := n.session.Get(ctx, at)
		if errors.Is(err, session.ErrNoNode) {
			continue
		}
		if err != nil || len(data) > 0 || stat.NumChildren > 0 || n.session.Delete(ctx, at, stat.Version) != nil {
			return
		}
	}
}
