package lock

import (
	"context"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// simple tells whether the lock is one znode, at its own path.
func (l *Lock) simple() bool { return l.kind.form == znode.Alone }

// line reads the holder and the waiters. For a simple lock only the holder is visible.
func (l *Lock) line(ctx context.Context) ([]contenders.Entry, error) {
	if !l.simple() {
		return contenders.Read(ctx, l.session, l.path)
	}
	var s session.Data
	var err error
	if s.Bytes, s.Stat, err = l.session.Get(ctx, l.path); err == nil {
		s.Exists = true
	} else if err = gone(err); err != nil {
		return nil, err
	}
	return l.holder(s), nil
}

// lines is a subscription to the result of line. It closes when ctx or the session ends.
func (l *Lock) lines(ctx context.Context) <-chan contenders.View {
	if !l.simple() {
		return contenders.Observe(ctx, l.session, l.path)
	}
	out := notify.NewLatest[contenders.View]()
	type of struct{ czxid, session int64 } // of a session too: servers that have lost their data give numbers again
	last := of{-1, 0}                      // over all incarnations
	observe.Run(ctx, observe.Spec{Session: l.session, Kind: "line view", Path: l.path, Ended: func(error) { out.Close() }, Begin: func(t *observe.Turn) {
		observe.Each(t.Context(), t, l.session.WatchData(t.Context(), l.path), func(s session.Data, open bool) {
			switch {
			case !open:
				t.End()
				return
			case s.Stale || last == of{s.Stat.Czxid, s.Stat.EphemeralOwner}:
				return // nothing new, or a change of data
			}
			last = of{s.Stat.Czxid, s.Stat.EphemeralOwner} // 0 if it does not exist
			out.Publish(contenders.View{Entries: l.holder(s)})
		})
	}})
	return out.C()
}

// holder is the queue of a simple lock.
func (l *Lock) holder(s session.Data) []contenders.Entry {
	if !s.Exists {
		return nil
	}
	return []contenders.Entry{{
		Path: l.path, Contender: znode.Contender{Kind: znode.Lock},
		Token: s.Stat.Czxid, Data: s.Bytes, SessionID: s.Stat.EphemeralOwner, Since: s.Stat.Ctime,
	}}
}
