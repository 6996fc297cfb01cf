package lock

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// Delay is what a holder leaves that dies or loses a lock with a delay ([WithDelay]): the next
// contender waits before it holds.
type Delay struct {
	Token int64            // of the grant of that holder; 0: there is no delay
	Owner session.Identity // whose it was, as it said itself, if it did
	Until time.Time        // the end of the wait, by the server's clock; zero while no contender waits: then it has not begun
}

// Delay reads whether the lock has lost its holder, and a delay is waited for, or will be by who
// comes next. It syncs first, as [Lock.Contenders] does. While somebody holds the lock there is
// none. Errors: session.ErrNoAuth, session.ErrClosed, ctx's cause.
func (l *Lock) Delay(ctx context.Context) (d Delay, err error) {
	all, err := l.Contenders(ctx)
	r, failure := l.record(ctx)
	switch {
	case err != nil:
		return d, err
	case failure != nil:
		return d, failed(l.session, "delay", l.path, failure)
	case len(all) == 0:
		return Delay{Token: r.Token, Owner: r.By}, nil // whoever noted that it waits has gone
	}
	return all[0].Delayed, nil
}

// record reads the record beside the contenders. Only exclusive locks have one.
func (l *Lock) record(ctx context.Context) (r contenders.Record, err error) {
	if l.kind.of == znode.Lock && !l.simple() {
		r, err = contenders.ReadRecord(ctx, l.session, l.path)
	}
	return r, err
}

// records calls f with the record, at first and after each change. Of one that may not be read the
// watch does not tell.
func (l *Lock) records(t *observe.Turn, f func(contenders.Record)) {
	observe.Each(t.Context(), t, l.session.WatchData(t.Context(), znode.Join(l.path, znode.HeldRecord)), func(d session.Data, _ bool) {
		f(contenders.Record{Record: znode.ParseRecord(d.Bytes), At: d.Stat.Mtime})
	})
	observe.Ask(t.Context(), t, func(ctx context.Context) error { _, err := l.record(ctx); return err }, func(err error) {
		if errors.Is(err, session.ErrNoAuth) {
			f(contenders.Record{Unread: true})
		}
	})
}
