package lock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/internal/presence"
	"github.com/troupe-go/troupe/session"
)

// Grant is one possession of the lock. It belongs to one epoch, and is never revived once it has
// ended: Done closes, Err says why (session.ErrReleased, or session.ErrLost with the cause, one of
// those at [session.Hold]), and the context is cancelled with that cause.
type Grant struct {
	*session.Hold
	lock *Lock
	of   *recipe.Possession

	became atomic.Pointer[Grant] // the read grant that replaced this one, by Downgrade
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

// mode is shared if other contenders may hold at the same time.
func (g *Grant) mode() fence.Mode {
	switch kindOf(g.Path()) {
	case znode.Read, znode.Lease:
		return fence.Shared
	}
	return fence.Exclusive
}

// Downgrade turns a grant of the write side ([NewWrite]) into a read grant. The write grant ends
// first, with session.ErrReleased, and so does its context. The returned grant has the same token,
// and its znode has the same position in the queue, so that no other writer can have come in
// between. The readers that waited are granted at the same time.
//
// ctx bounds the wait. If it ends first its error is returned, and both grants are over; what is
// left in ZooKeeper is deleted in the background until the epoch ends. The same holds for every
// other error, such as session.ErrLost, with its cause, if this grant has ended. With a ctx that
// has ended already, or a grant that is not of the write side (session.ErrUnsupported), nothing
// changes.
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

// Revoke asks the contender at a path (see [Lock.Contenders]) to release: it writes "unlock", a
// newline and the old data into its znode, and the holder's [Grant.Revoked] closes. If the
// contender is waiting, Revoked closes when it is granted. A contender is asked only once. Errors:
// session.ErrNoNode if it is gone, session.ErrNoAuth; session.ErrInvalidPath and
// session.ErrUnsupported if the path is not that of a contender in a queue.
//
// The format is that of the revocable locks in ZooKeeper's recipes, so any client can ask.
func Revoke(ctx context.Context, s *session.Session, contenderPath string) error {
	if err := checkContender(s, contenderPath, "revoke"); err != nil {
		return err
	}
	for {
		data, stat, err := upToDate(ctx, s, contenderPath)
		if err != nil || znode.Revoked(data) {
			return err
		}
		_, err = s.Set(ctx, contenderPath, znode.WithUnlock(data), stat.Version)
		if !errors.Is(err, session.ErrBadVersion) && !errors.Is(err, session.ErrUnknownOutcome) || ctx.Err() != nil {
			return err
		}
	}
}

// upToDate reads a contender's data. If the server does not have the znode, it syncs with a quorum
// and reads again, since the server may lag behind.
func upToDate(ctx context.Context, s *session.Session, path string) ([]byte, session.Stat, error) {
	data, stat, err := s.Get(ctx, path)
	if !errors.Is(err, session.ErrNoNode) {
		return data, stat, err
	}
	if err := s.SyncQuorum(ctx, path); err != nil {
		return nil, session.Stat{}, err
	}
	return s.Get(ctx, path)
}

// Break calls [Revoke], waits for the grace period, and deletes the contender's znode if it still
// exists: the holder's Done closes within a few milliseconds and a round trip, with
// session.ErrDeleted. The holder may still be writing when the next one is granted; tokens cover
// that case. Break returns early when the contender releases, and with ctx's error, without
// deleting, when ctx ends first. It is no error if the contender is gone.
func Break(ctx context.Context, s *session.Session, contenderPath string, grace time.Duration) error {
	if grace < 0 {
		return failed(s, "break", contenderPath, errors.New("grace: negative"))
	}
	if err := Revoke(ctx, s, contenderPath); err != nil {
		return gone(err)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	patience := time.NewTimer(grace)
	defer patience.Stop()
	states := s.WatchData(watching, contenderPath)
	for {
		select {
		case state, open := <-states:
			switch {
			case !open:
				states = nil // no further states: wait for the grace period
			case !state.Exists && !state.Stale:
				return nil
			}
		case <-patience.C:
			return remove(ctx, s, contenderPath)
		case <-s.Done():
			return failed(s, "break", contenderPath, s.Err())
		case <-ctx.Done():
			return failed(s, "break", contenderPath, context.Cause(ctx))
		}
	}
}

// remove deletes a contender's znode, and repeats that if a reply was lost. No other znode can have
// got its name meanwhile.
func remove(ctx context.Context, s *session.Session, path string) error {
	for {
		err := s.Delete(ctx, path, -1)
		if !errors.Is(err, session.ErrUnknownOutcome) || ctx.Err() != nil {
			return gone(err)
		}
		if exists, err := presence.Of(ctx, s, path); err != nil || !exists {
			return err
		}
	}
}

func gone(err error) error {
	if errors.Is(err, session.ErrNoNode) {
		return nil
	}
	return err
}

// checkContender refuses a path that is not that of a contender, so that a mistyped path cannot
// overwrite or delete anything else.
func checkContender(s *session.Session, path, op string) error {
	if s == nil {
		return errors.New(op + ": s: nil session")
	}
	if err := znode.Validate(path); err != nil {
		return failed(s, op, path, fmt.Errorf("%w: contenderPath: %w", session.ErrInvalidPath, err))
	}
	if kindOf(path) == znode.Other {
		why := "contenderPath: not the path of a contender (a lock with the layout Simple has none)"
		return failed(s, op, path, fmt.Errorf("%w: %s: %w", session.ErrInvalidPath, why, session.ErrUnsupported))
	}
	return nil
}
