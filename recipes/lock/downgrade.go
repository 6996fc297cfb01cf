package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Downgrade makes a read grant of a write grant: of one of [NewWrite], that is. This one ends
// first, with session.ErrReleased, and so does its context; the grant that is returned has the same
// token and a znode in the same place in line, so that no other writer can have come between. The
// readers that waited are granted beside it.
//
// ctx bounds the wait. If it ends first its error is returned, and both grants are over: what is
// left in ZooKeeper is deleted in the background until the epoch ends. The same goes for every
// other error: session.ErrLost, with its cause, if this grant was over before, or is by then;
// session.ErrUnsupported, at once and with nothing changed, if it is no grant of the write side.
func (g *Grant) Downgrade(ctx context.Context) (*Grant, error) {
	const op = "downgrade"
	_, name := znode.Split(g.Path())
	if c, _ := znode.ParseContender(name); g.lock.kind.of != znode.Write || !c.Downgrades() {
		return nil, failed(op, g.lock.path, fmt.Errorf("%w: it is no write grant", session.ErrUnsupported))
	}
	next, err := g.lock.instance.Downgrade(ctx, g.of)
	if err != nil {
		return nil, failed(op, g.lock.path, err)
	}
	g.became.Store(next)
	return next, nil
}

// last is what became of the grant.
func (g *Grant) last() *Grant {
	if next := g.became.Load(); next != nil {
		return next
	}
	return g
}

// lost is why the grant is over, unless it was released.
func (g *Grant) lost() error {
	if err := g.Err(); err != nil && !errors.Is(err, session.ErrReleased) {
		return err
	}
	return nil
}
