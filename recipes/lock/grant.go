package lock

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/session"
)

// Grant is one possession of the lock. It belongs to one epoch, and is never revived once it has
// ended: Done closes, Err says why (session.ErrReleased, or session.ErrLost with the cause, one of
// those at [session.Hold]), and the context is cancelled with that cause.
type Grant struct {
	*session.Hold
	lock *Lock
	of   *recipe.Possession

	became atomic.Pointer[Grant] // by Downgrade
}

func (l *Lock) wrap(p *recipe.Possession) *Grant {
	if log, level := p.Won(recipe.Logger(l.session), slog.LevelDebug); log.Enabled(p.Context(), level) { // mostly not
		log.Log(p.Context(), level, "a lock is granted", "recipe", "lock", "path", l.session.Path(l.path), "token", p.Token())
	}
	return &Grant{Hold: p.Hold, lock: l, of: p}
}

// Release ends this possession: Done closes first, then the znode is deleted; nil means that
// ZooKeeper has confirmed the deletion. For a grant that was lost before, it returns
// session.ErrLost. If ctx ends first its error is returned, and the deletion goes on in the
// background until the epoch ends. A ctx that ends with the grant itself, as in [Lock.Do], is
// replaced by one that lasts for a session timeout. Release is idempotent. A standing intent queues
// again at the end.
func (g *Grant) Release(ctx context.Context) error {
	return failed(g.lock.session, "release", g.lock.path, g.of.Release(ctx))
}

// Revoked closes when another client asks this holder to release, with [Revoke] or [Break]. It is
// only a request: the grant stays valid until it is released or broken. The channel never closes
// for a grant that ends without being asked.
func (g *Grant) Revoked() <-chan struct{} { return g.of.Revoked() }

// Sequencer describes this possession as a value to send along with requests to other services,
// which can then check it: see package fence.
func (g *Grant) Sequencer() fence.Sequencer {
	return fence.Sequencer{
		Path: g.lock.session.Path(g.Path()), Mode: g.mode(), Token: g.Token(), SessionID: g.of.SessionID(),
	}
}

// mode tells whether other contenders may hold at the same time.
func (g *Grant) mode() fence.Mode {
	switch kindOf(g.Path()) {
	case znode.Read, znode.Lease:
		return fence.Shared
	}
	return fence.Exclusive
}
