package lock

import (
	"context"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/host"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/session"
)

// Grant is one possession of the lock. It belongs to one epoch, and once over it is over for ever:
// Done closes, Err says how (session.ErrReleased, or session.ErrLost wrapping session.ErrExpired,
// session.ErrUntrusted, session.ErrSuspended, session.ErrDeleted, session.ErrRestarted or
// session.ErrClosed), and the context is cancelled with that cause.
type Grant struct {
	*session.Hold
	lock *Lock
	of   *host.Possession

	became atomic.Pointer[Grant] // by Downgrade
}

func (l *Lock) wrap(p *host.Possession) *Grant {
	return &Grant{Hold: p.Hold, lock: l, of: p}
}

// Release gives up this possession: Done closes first, then the znode is deleted, and nil means
// that ZooKeeper has confirmed it. A grant that had been lost before says so (session.ErrLost). If
// ctx ends first its error is returned and the deletion goes on in the background until the epoch
// ends; a ctx that ends with the grant itself, as in [Lock.Do], counts as one that lasts for a
// session timeout. It is idempotent. A standing intent stands again at the end of the line.
func (g *Grant) Release(ctx context.Context) error {
	return failed("release", g.lock.path, g.of.Release(ctx))
}

// Revoked closes when somebody asks this holder to give up, with [Revoke] or [Break]. It is a
// request: the grant stands until it is released or broken. It never closes for a grant that ends
// without having been asked.
func (g *Grant) Revoked() <-chan struct{} { return g.of.Revoked() }

// Sequencer returns this possession as a value to send along with requests to other services, which
// can then check it: see package fence.
func (g *Grant) Sequencer() fence.Sequencer {
	return fence.Sequencer{
		Path: g.lock.session.Path(g.Path()), Mode: g.mode(), Token: g.Token(), SessionID: g.of.SessionID(),
	}
}

// mode says whether others may hold beside this one.
func (g *Grant) mode() fence.Mode {
	switch kindOf(g.Path()) {
	case znode.Read, znode.Lease:
		return fence.Shared
	}
	return fence.Exclusive
}
