package lock

import (
	"context"
	"time"

	"github.com/troupe-go/troupe/internal/line"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
)

// Contender is one participant in the line, of this process or of any other.
type Contender struct {
	Path      string    // of its znode, for [Revoke] and [Break]
	Token     int64     // of its grant, once it holds: the transaction by which it took its place
	Data      []byte    // as WithData has it, or whatever another library wrote; nil also if this session may not read it
	SessionID int64     // the ZooKeeper session that it ends with; 0 for a znode that is not ephemeral, which ends with none
	Since     time.Time // when it took its place, by the server's clock
	Holding   bool      // nobody ahead is in its way: it holds, or is about to
}

// Contenders lists who holds the lock and who waits, in order. What was settled before the call is seen. A line that does not exist is empty. In the
// layout [Simple] nobody waits in a line, and only the holder is seen. Errors: session.ErrNoAuth, session.ErrClosed, ctx's cause.
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

// Observe is a subscription to the line: who holds and who waits, in order, the present state first. A state that was not received is replaced by the
// newer one. It follows arrivals, departures and grants, not changes of data. While the connection is down it is as it was last seen: [Lock.Standing]
// and session.Session.Observe say so. It closes when ctx ends or the lock is done.
func (l *Lock) Observe(ctx context.Context) <-chan []Contender {
	out := notify.NewLatest[[]Contender]()
	ctx, cancel := context.WithCancel(ctx)
	go func() { // owned by ctx and the lock, ends with the first of them
		defer out.Close()
		defer cancel()
		views := l.lines(ctx)
		holders := marks{session: l.session}
		defer holders.leave()
		var entries []line.Entry
		for {
			select {
			case v, open := <-views:
				if !open {
					return
				}
				entries = v.Entries
			case d, open := <-holders.news:
				if !holders.note(d, open) {
					continue
				}
			case <-l.Done():
				return
			}
			holders.follow(ctx, entries)
			out.Publish(contendersOf(holders.on(entries)))
		}
	}()
	return out.C()
}

func contendersOf(entries []line.Entry) []Contender {
	contenders := make([]Contender, len(entries))
	readers := true // all before are
	for i, e := range entries {
		readers = readers && e.Contender.Kind == znode.Read
		contenders[i] = Contender{
			Path: e.Path, Token: e.Token, Data: e.Data, SessionID: e.SessionID, Since: e.Since,
			Holding: readers || e.Held || i == 0 && !e.Contender.Marks(),
		}
	}
	return contenders
}
