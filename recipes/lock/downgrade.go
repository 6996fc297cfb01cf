package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Downgrade turns a grant of the write side ([NewWrite]) into a read grant. The write grant ends
// first, with session.ErrReleased, and so does its context. The returned grant has the same token,
// and its znode has the same position in the queue, so that no other writer can have come in
// between. The readers that waited are granted at the same time.
//
// ctx bounds the wait. If it ends first its error is returned, and both grants are over; what is
// left in ZooKeeper is deleted in the background until the epoch ends. The same holds for every
// other error, such as session.ErrLost, with its cause, if this grant has ended. The exception is
// session.ErrUnsupported, for a grant that is not of the write side: it is returned at once, and
// nothing has changed.
func (g *Grant) Downgrade(ctx context.Context) (*Grant, error) {
	const op = "downgrade"
	_, name := znode.Split(g.Path())
	if c, _ := znode.ParseContender(name); g.lock.kind.of != znode.Write || !c.Downgrades() {
		return nil, failed(g.lock.session, op, g.lock.path, fmt.Errorf("%w: not a write grant", session.ErrUnsupported))
	}
	next, err := g.lock.instance.Downgrade(ctx, g.of)
	if err != nil {
		return nil, failed(g.lock.session, op, g.lock.path, err)
	}
	g.became.Store(next)
	return next, nil
}

// last is the grant itself, or the one that replaced it by Downgrade.
func (g *Grant) last() *Grant {
	if next := g.became.Load(); next != nil {
		return next
	}
	return g
}

// lost is why the grant ended, unless it was released.
func (g *Grant) lost() error {
	if err := g.Err(); err != nil && !errors.Is(err, session.ErrReleased) {
		return err
	}
	return nil
}
