package lock

import (
	"context"
	"time"

	"github.com/troupe-go/troupe/internal/line"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/observe"
	"github.com/troupe-go/troupe/internal/znode"
)

// Contender is one participant in the line, of this process or of any other.
type Contender struct {
	Path      string    // of its znode, for [Revoke] and [Break]
	Token     int64     // of its grant, once it holds: the transaction by which it took its place; see Unread
	Data      []byte    // as WithData has it, or whatever another library wrote
	SessionID int64     // the ZooKeeper session that it ends with; 0 for a znode that is not ephemeral, which ends with none; see Unread
	Since     time.Time // when it took its place, by the server's clock; see Unread
	Holding   bool      // nobody ahead is in its way: it holds, or is about to

	// Unread: this session may not read its znode. There are no Data then, and servers since 3.8.4
	// do not tell Token, SessionID and Since either: these are 0. Of a semaphore's contender it is
	// not known whether it holds.
	Unread bool
}

// Contenders lists who holds the lock and who waits, in order. What was settled before the call is
// seen. A line that does not exist is empty. In the layout [Simple] nobody waits in a line, and
// only the holder is seen. Errors: session.ErrNoAuth, session.ErrClosed, ctx's cause.
func (l *Lock) Contenders(ctx context.Context) ([]Contender, error) {
	if err := l.session.Sync(ctx, l.path); err != nil {
		return nil, failed("contenders", l.path, err)
	}
	entries, err := l.line(ctx)
	if err != nil {
		return nil, failed("contenders", l.path, err)
	}
	return contendersOf(entries), nil
}

// Observe is a subscription to the line: who holds and who waits, in order, the present state
// first. A state that was not received is replaced by the newer one. It follows arrivals,
// departures and grants, not changes of data. While the connection is down it is as it was last
// seen: [Lock.Standing] and session.Session.Observe say so. It closes when ctx ends or the lock is
// done.
func (l *Lock) Observe(ctx context.Context) <-chan []Contender {
	out := notify.NewLatest[[]Contender]()
	observe.Run(ctx, observe.Spec{
		Session: l.session, Kind: "lock view", Path: l.path, Ended: func(error) { out.Close() },
		Begin: func(t *observe.Turn) { l.observe(t, out) },
	})
	return out.C()
}

// observe begins an incarnation of an observation.
func (l *Lock) observe(t *observe.Turn, out *notify.Latest[[]Contender]) {
	var entries []line.Entry
	holders := marks{session: l.session, turn: t}
	holders.changed = func() {
		holders.follow(entries)
		out.Publish(contendersOf(holders.on(entries)))
	}
	observe.Each(t.Context(), t, l.Done(), func(struct{}, bool) { t.End() })
	observe.Each(t.Context(), t, l.lines(t.Context()), func(v line.View, open bool) {
		if !open {
			t.End()
			return
		}
		entries = v.Entries
		holders.changed()
	})
}

func contendersOf(entries []line.Entry) []Contender {
	contenders := make([]Contender, len(entries))
	readers := true // all before are
	for i, e := range entries {
		readers = readers && e.Contender.Kind == znode.Read
		contenders[i] = Contender{
			Path: e.Path, Token: e.Token, Data: e.Data, SessionID: e.SessionID, Since: e.Since, Unread: e.Unread,
			Holding: readers || e.Held || i == 0 && !e.Contender.Marks(),
		}
	}
	return contenders
}
