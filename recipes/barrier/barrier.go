package barrier

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/recipes/internal/presence"
	"github.com/troupe-go/troupe/session"
)

// Barrier is raised and lowered: processes that wait for it proceed when it is down. A raised
// barrier is a persistent znode, so it stays up when the process that raised it ends or dies.
type Barrier struct {
	session *session.Session
	life    *recipe.Handle
	path    string
	name    string
}

// Status is the state of a barrier.
type Status struct {
	Raised bool // it is up: Wait blocks
	Stale  bool // the connection is down: this is the last known state
}

// New returns a handle of the barrier at a path, which is the path of its znode. It does no I/O.
// Errors name the invalid argument.
func New(s *session.Session, path string, opts ...Option) (*Barrier, error) {
	o, err := configure("barrier.New", s, path, opts)
	if err == nil && o.untilExpiry {
		err = recipe.Failed(s, "barrier.New", path, fmt.Errorf("WithUntilExpiry: %w: there are no passages", session.ErrUnsupported))
	}
	if err != nil {
		return nil, err
	}
	return &Barrier{session: s, path: path, name: o.name, life: recipe.NewHandle(s, "barrier", path, o.acl...)}, nil
}

// Close ends this handle: its calls end with session.ErrClosed, and the channels of ObserveStatus
// close. The znode stays. Close is idempotent, and does not wait: ctx is not used.
func (b *Barrier) Close(ctx context.Context) error {
	b.life.Close()
	return nil
}

// Done closes when the handle has ended: by Close, or with its session.
func (b *Barrier) Done() <-chan struct{} { return b.life.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed.
func (b *Barrier) Err() error { return b.life.Err() }

// Raise raises the barrier. It is no error if it is up already. A lost reply is resolved by
// reading. Errors: session.ErrNoAuth and other errors of ZooKeeper; session.ErrClosed; ctx's cause.
func (b *Barrier) Raise(ctx context.Context) error {
	ctx, leave := b.life.Within(ctx)
	defer leave()
	for {
		_, err := b.session.Create(ctx, b.path, []byte(b.name), session.Parents())
		switch {
		case errors.Is(err, session.ErrNodeExists):
			return nil
		case !errors.Is(err, session.ErrUnknownOutcome) || ctx.Err() != nil:
			return recipe.Failed(b.session, "raise", b.path, err)
		}
		raised, err := presence.Of(ctx, b.session, b.path) // the reply was lost: was it carried out?
		if err != nil || raised {
			return recipe.Failed(b.session, "raise", b.path, err)
		}
	}
}

// Lower lowers the barrier. It is no error if it is down already. After a lost reply it is lowered
// again, so it was down when Lower returned nil. Errors are those of Raise.
func (b *Barrier) Lower(ctx context.Context) error {
	ctx, leave := b.life.Within(ctx)
	defer leave()
	for {
		err := b.session.Delete(ctx, b.path, -1)
		switch {
		case errors.Is(err, session.ErrNoNode):
			return nil
		case !errors.Is(err, session.ErrUnknownOutcome) || ctx.Err() != nil:
			return recipe.Failed(b.session, "lower", b.path, err)
		}
	}
}

// Wait returns when the barrier is down, or was down at some moment during the call. If it is
// lowered and raised again at once, all waiters proceed. ctx bounds the wait. Other errors:
// session.ErrClosed; session.ErrRestarted if the watch's actor exceeded its restarts; those of
// ZooKeeper.
func (b *Barrier) Wait(ctx context.Context) error {
	ctx, leave := b.life.Within(ctx)
	defer leave()
	stat, raised, err := b.read(ctx)
	if err != nil || !raised {
		return recipe.Failed(b.session, "wait", b.path, err)
	}
	return recipe.Failed(b.session, "wait", b.path, b.outlast(ctx, stat))
}

// read syncs with a quorum and reads. So the result includes every change that another process was
// told of before the call.
func (b *Barrier) read(ctx context.Context) (session.Stat, bool, error) {
	if err := b.session.SyncQuorum(ctx, b.path); err != nil {
		return session.Stat{}, false, err
	}
	return b.session.Exists(ctx, b.path)
}

// outlast waits until the barrier whose znode has that Stat is down. It ignores a later barrier,
// whose creation is not watched. Servers that have lost their data may give the same Czxid again,
// so the creation time is compared too.
func (b *Barrier) outlast(ctx context.Context, was session.Stat) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	for d := range contenders.Follow(watching, b.session, b.path) {
		if !d.Stale && !d.Unread && (!d.Exists || d.Stat.Czxid != was.Czxid || d.Stat.Ctime != was.Ctime) {
			return nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := b.session.Err(); err != nil {
		return err
	}
	return session.ErrRestarted // the watch's actor exceeded its restarts; the session has logged it
}

// Lowered returns a channel that closes when the barrier that is up at the time of the call is
// down, even if another one is raised at once. If the barrier is down, the channel closes
// immediately. A barrier that can't be read does not count as down: it is read again after pauses
// of up to five seconds, and if a barrier is up then, the channel waits for that one. If ctx, the
// handle or the session ends first, the channel stays open: wait for these as well. It also stays
// open if the watch ends after too many panics, which are logged.
func (b *Barrier) Lowered(ctx context.Context) <-chan struct{} {
	var down notify.Latch
	ctx, leave := b.life.Within(ctx)
	observe.Run(ctx, observe.Spec{
		Session: b.session, Kind: "barrier waiter", Path: b.path, Ended: func(error) { leave() },
		Begin: func(t *observe.Turn) { b.awaitDown(t, &down, 1) },
	})
	return down.C()
}

// awaitDown closes the latch when the barrier is down. It tries again after an error.
func (b *Barrier) awaitDown(t *observe.Turn, down *notify.Latch, try int) {
	observe.Ask(t.Context(), t, b.Wait, func(err error) {
		switch {
		case err == nil:
			down.Close()
			t.End()
		case b.Err() == nil && !errors.Is(err, session.ErrRestarted):
			if try == 1 {
				recipe.Logger(b.session).Warn("can't watch; trying again", "path", b.session.Path(b.path), "error", err)
			}
			observe.After(t.Context(), t, observe.Backoff(try), func() { b.awaitDown(t, down, try+1) })
		}
	})
}

// ObserveStatus subscribes to the status of the barrier: the current one first, then each change;
// the newest replaces one that was not received. The package closes the channel when ctx, this
// handle or the session ends.
func (b *Barrier) ObserveStatus(ctx context.Context) <-chan Status {
	out := notify.NewLatest[Status]()
	var last *Status // over all incarnations
	ctx, leave := b.life.Within(ctx)
	ended := func(error) {
		leave()
		out.Close()
	}
	observe.Run(ctx, observe.Spec{Session: b.session, Kind: "barrier view", Path: b.path, Ended: ended, Begin: func(t *observe.Turn) {
		observe.Each(t.Context(), t, b.session.WatchData(t.Context(), b.path), func(d session.Data, open bool) {
			now := Status{Raised: d.Exists, Stale: d.Stale}
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

var (
	// ErrBroken means that the round was broken, for all its parties. The next round exists
	// already.
	ErrBroken error = double.ErrBroken

	// ErrDiffering comes with [ErrBroken]: the parties of the round disagree about their number.
	ErrDiffering error = double.ErrDiffering

	// ErrCrowd means that there are more parties than agreed. With [ErrBroken], too many parties
	// were waiting in a round, and none entered. Without it, all parties of the round are inside,
	// and the party that gets this error is one too many. A process that was restarted also gets it
	// if ZooKeeper has not noticed the death of its predecessor yet, unless both have the same
	// name: see [WithName].
	ErrCrowd error = double.ErrCrowd

	// ErrReplaced means that another process with the same name arrived later, and has taken this
	// party's position in the round: see [WithName]. A process that is meant to be replaced should
	// end now. If no other process has replaced this one, the arrival of its predecessor was
	// carried out late: enter again.
	ErrReplaced error = double.ErrReplaced
)
