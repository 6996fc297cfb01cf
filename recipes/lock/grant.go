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
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/session"
)

// Grant is one possession of the lock. Its Done, Err, Context, Valid, Token, Path, Session and
// Commit are those of [session.Hold]. It belongs to one epoch, and is never revived once it has
// ended: Done closes, Err says why (session.ErrReleased, or session.ErrLost with the cause, one of
// those at session.Hold), and the context is cancelled with that cause.
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

// Revoked closes when another client asks this holder to release, with [Lock.Revoke] or
// [Lock.Break]. Nothing is taken away yet: the grant stays valid until it is released or broken,
// and Done tells of that. The channel never closes for a grant that ends without being asked.
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

// Revoke asks a contender of this lock (see [Lock.Contenders]) to release: it writes "unlock", a
// newline and the old data into its znode, and the holder's [Grant.Revoked] closes. If the
// contender is waiting, Revoked closes when it is granted. A contender is asked only once; a writer
// that downgrades is no longer asked then. Errors: session.ErrNoNode if it is gone,
// session.ErrNoAuth if the ACL forbids to read or write its znode; session.ErrInvalidPath if its
// Path is not that of a contender of this lock, and session.ErrUnsupported in the layout [Simple].
//
// The format is that of the revocable locks in ZooKeeper's recipes, so any client can ask.
func (l *Lock) Revoke(ctx context.Context, c Contender) error {
	return failed(l.session, "revoke", c.Path, l.revoke(ctx, c))
}

func (l *Lock) revoke(ctx context.Context, c Contender) error {
	if parent, _ := znode.Split(c.Path); l.simple() {
		return fmt.Errorf("%w: the layout Simple has no queue", session.ErrUnsupported)
	} else if parent != l.path || kindOf(c.Path) == znode.Other {
		return fmt.Errorf("%w: c.Path: not that of a contender of %s", session.ErrInvalidPath, l.path)
	}
	for {
		data, stat, err := contenders.ReadOwn(ctx, l.session, c.Path, c.Token)
		if err != nil || znode.Revoked(data) {
			return err
		}
		_, err = l.session.Set(ctx, c.Path, znode.WithUnlock(data), stat.Version)
		if !errors.Is(err, session.ErrBadVersion) && !errors.Is(err, session.ErrUnknownOutcome) || ctx.Err() != nil {
			return err
		}
	}
}

// Break calls [Lock.Revoke], waits for the grace period, and deletes the contender's znode if it
// still exists: the holder's Done closes within a few milliseconds and a round trip, with
// session.ErrDeleted. The holder may still be writing when the next one is granted; tokens cover
// that case. Break returns early when the contender releases, and with ctx's error, without
// deleting, when ctx ends first. It is no error if the contender is gone. A writer that downgrades
// meanwhile is asked again, as the reader that it is then, and has the grace period again.
//
// Only the znode with the contender's Token is deleted, not one that was created later under its
// name. Break reads it first, and then deletes that version. ZooKeeper has no delete by token: a
// znode that takes the name between the two, and has been written as often by then, would be
// deleted. Names of Troupe's layout have a GUID and do not occur again. A contender without a token
// ([Contender].Unread) can't be told from another: it is refused with session.ErrNoAuth.
func (l *Lock) Break(ctx context.Context, c Contender, grace time.Duration) error {
	ask := func(path string) error { return l.revoke(ctx, Contender{Path: path, Token: c.Token}) }
	return failed(l.session, "break", c.Path, contenders.Break(ctx, l.session, c.Path, c.Token, grace, ask))
}
