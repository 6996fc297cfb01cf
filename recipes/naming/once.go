package naming

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/internal/presence"
	"github.com/troupe-go/troupe/session"
)

// errAgain says that a change was not carried out, and is to be tried again.
var errAgain = errors.New("not carried out")

// changed tells whether an operation failed because the name has changed since it was read.
func changed(err error) bool {
	return errors.Is(err, errAgain) || errors.Is(err, session.ErrBadVersion) || errors.Is(err, session.ErrNodeExists) || errors.Is(err, session.ErrNoNode)
}

// once changes a name on condition of the state that was read, exactly once.
//
// A write leaves no trace of its author. To be able to resolve a lost reply, the same transaction
// creates a marker below the root, which is deleted afterwards. To repeat the write would be wrong:
// another client may have seen the first one, and replaced it.
func (n *Names) once(ctx context.Context, seen Binding, path string, ops ...session.Op) error {
	marker := znode.Join(n.root, znode.Protect(znode.NewGUID(), "name"))
	epoch := n.session.Status().Epoch
	_, err := n.session.Multi(ctx, append(ops, session.CreateOp(marker, nil, session.Ephemeral()))...)
	switch {
	case err == nil:
		n.sweep(ctx, marker)
		return nil
	case !errors.Is(err, session.ErrUnknownOutcome):
		return err
	case ctx.Err() != nil:
		n.sweep(ctx, marker)
		return err
	}
	done, failure := presence.Of(ctx, n.session, marker)
	switch {
	case failure != nil:
		n.sweep(ctx, marker)
		return errors.Join(err, failure)
	case done:
		n.sweep(ctx, marker)
		return nil
	case n.session.Status().Epoch == epoch:
		return errAgain
	}
	now, failure := n.read(ctx, seen.Name, path) // the marker may be gone with its session
	if failure == nil && seen.Czxid != 0 && now.Mzxid == seen.Mzxid {
		return errAgain
	}
	return errors.Join(err, failure)
}

// sweep deletes a marker; in the background if the caller does not wait for it.
func (n *Names) sweep(ctx context.Context, marker string) {
	if !n.swept(ctx, marker) {
		ctx = context.WithoutCancel(ctx) // ctx has ended
		go n.swept(ctx, marker)          // owned by the session: ends with the answer, or with the session
	}
}

// swept deletes a marker reliably; false if ctx has ended before. The marker may be gone with its
// session.
func (n *Names) swept(ctx context.Context, marker string) bool {
	for {
		err := n.session.Delete(ctx, marker, -1)
		switch {
		case ctx.Err() != nil:
			return false
		case !errors.Is(err, session.ErrUnknownOutcome):
			return true
		}
	}
}
