package barrier

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/internal/line"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/observe"
	"github.com/troupe-go/troupe/internal/presence"
	"github.com/troupe-go/troupe/session"
)

// Barrier is a gate that is raised or lowered: who waits passes when it is down. It stands as a
// znode of its own, a persistent one: it stays raised whatever becomes of the process that raised
// it. A Barrier has nothing to close.
type Barrier struct {
	session *session.Session
	path    string
	id      string
}

// Position is how a barrier stands.
type Position struct {
	Raised bool // who waits now waits
	Stale  bool // the connection is down: it stood so when last seen
}

// New makes a handle of the barrier on a path, the very znode that stands for it. It does no I/O.
// Errors name the argument that is wrong.
func New(s *session.Session, path string, opts ...Option) (*Barrier, error) {
	o, err := configure("barrier.New", s, path, opts)
	if err != nil {
		return nil, err
	}
	return &Barrier{session: s, path: path, id: o.id}, nil
}

// Raise raises the barrier. One that is raised stays as it is, and that is no error. A lost answer
// is resolved by looking. Errors: session.ErrNoAuth and whatever else ZooKeeper refuses;
// session.ErrClosed; ctx's cause.
func (b *Barrier) Raise(ctx context.Context) error {
	for {
		_, err := b.session.Create(ctx, b.path, []byte(b.id), session.Parents())
		switch {
		case errors.Is(err, session.ErrNodeExists):
			return nil
		case !errors.Is(err, session.ErrUnknownOutcome) || ctx.Err() != nil:
			return failed("raise", b.path, err)
		}
		raised, err := b.created(ctx)
		if err != nil || raised {
			return failed("raise", b.path, err)
		}
	}
}

// created looks whether a create whose answer was lost was carried out.
func (b *Barrier) created(ctx context.Context) (bool, error) {
	return presence.Of(ctx, b.session, b.path)
}

// Lower lowers the barrier. One that is down stays down, and that is no error. After a lost answer
// it is lowered again, so that it was down when Lower returned nil. Errors are those of Raise.
func (b *Barrier) Lower(ctx context.Context) error {
	for {
		err := b.session.Delete(ctx, b.path, -1)
		switch {
		case errors.Is(err, session.ErrNoNode):
			return nil
		case !errors.Is(err, session.ErrUnknownOutcome) || ctx.Err() != nil:
			return failed("lower", b.path, err)
		}
	}
}

// Wait returns when the barrier is down, or was at some moment during the call: one that is lowered
// and raised again at once lets everyone pass who waited for it. ctx bounds the wait. Other errors:
// session.ErrClosed; session.ErrRestarted if the watch was given up; what ZooKeeper refuses.
func (b *Barrier) Wait(ctx context.Context) error {
	stat, raised, err := b.look(ctx)
	if err != nil || !raised {
		return failed("wait", b.path, err)
	}
	return failed("wait", b.path, b.outlast(ctx, stat.Czxid))
}

// look is as new as anything that anybody had been told of before.
func (b *Barrier) look(ctx context.Context) (session.Stat, bool, error) {
	if err := b.session.Sync(ctx, b.path); err != nil {
		return session.Stat{}, false, err
	}
	return b.session.Exists(ctx, b.path)
}

// outlast waits for the end of the barrier that was created by a transaction. Nobody waits for the
// next one: its birth is not watched.
func (b *Barrier) outlast(ctx context.Context, czxid int64) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	for d := range line.Follow(watching, b.session, b.path) {
		if !d.Stale && !d.Unread && (!d.Exists || d.Stat.Czxid != czxid) {
			return nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := b.session.Err(); err != nil {
		return err
	}
	return session.ErrRestarted // the watch's actor failed too often, which the session has logged
}

// Lowered returns a channel that closes when the barrier that is up at the time of the call is
// down, even if another is raised at once; if none is up, that is now. It closes as well when ctx
// or the session ends: look at them to tell.
func (b *Barrier) Lowered(ctx context.Context) <-chan struct{} {
	down := notify.NewLatch()
	observe.Run(ctx, observe.Spec{Session: b.session, Kind: "barrier waiter", Path: b.path, Ended: func(error) { down.Close() }, Begin: func(t *observe.Turn) {
		observe.Ask(t.Context(), t, b.Wait, func(err error) {
			if err == nil { // what ZooKeeper refuses to tell is not down
				t.End()
			}
		})
	}})
	return down.C()
}

// Observe is a subscription to how the barrier stands: the present state first, then each change,
// replacing one that was not received. It closes when ctx or the session ends.
func (b *Barrier) Observe(ctx context.Context) <-chan Position {
	out := notify.NewLatest[Position]()
	var last *Position // over all incarnations
	observe.Run(ctx, observe.Spec{Session: b.session, Kind: "barrier view", Path: b.path, Ended: func(error) { out.Close() }, Begin: func(t *observe.Turn) {
		observe.Each(t.Context(), t, b.session.WatchData(t.Context(), b.path), func(d session.Data, open bool) {
			now := Position{Raised: d.Exists, Stale: d.Stale}
			switch {
			case !open:
				t.End()
			case last == nil || now != *last:
				last = &now
				out.Publish(now)
			}
		})
	}})
	return out.C()
}
