package lock

import (
	"context"
	"fmt"

	"github.com/troupe-go/troupe/internal/enum"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// Layout determines the names of a lock's znodes. A lock in Troupe's own layout respects the
// contenders of other libraries on its path, so the other layouts are needed only for libraries
// that do not respect Troupe's names.
type Layout int

// The layouts.
const (
	// Troupe is the default. It uses the names of Curator's InterProcessMutex.
	Troupe Layout = iota

	// Simple is one plain ephemeral znode at the lock's own path, the first form of a lock in
	// ZooKeeper's paper: the client that creates it holds the lock. Kafka's brokers choose their
	// controller in this way, and HBase its master. There is no queue: when the znode is deleted,
	// all waiters wake and try, in no order. Use it only for such paths: see
	// docs/recipes/simple-lock.md.
	//
	// The znode contains exactly the data of [WithData], or a GUID. [Revoke] is
	// session.ErrUnsupported, since it would change data that others read.
	Simple

	// Curator is the same as Troupe for exclusive locks, and the layout of Curator's
	// InterProcessReadWriteLock ("__READ__", "__WRIT__") for the two sides of a shared lock.
	Curator

	// Kazoo is the layout of Lock, ReadLock and WriteLock in the Python library kazoo
	// ("<uuid>__lock__", "<uuid>__rlock__").
	Kazoo

	// JavaWriteLock is the layout of WriteLock in ZooKeeper's Java recipes ("x-<session>-"). It has
	// exclusive locks only. The znode contains the data of [WithData], or a GUID.
	JavaWriteLock

	// GoZooKeeper is the layout of the lock in go-zookeeper. It has exclusive locks only.
	GoZooKeeper
)

// String is the layout's name.
func (l Layout) String() string {
	return enum.Name("Layout", l, "Troupe", "Simple", "Curator", "Kazoo", "JavaWriteLock", "GoZooKeeper")
}

// WithLayout uses the znode names of another library. If that layout has no form for the kind of
// lock, the constructor returns session.ErrUnsupported.
func WithLayout(l Layout) Option {
	return func(o *options) error {
		if l < 0 || l > GoZooKeeper {
			return fmt.Errorf("WithLayout: unknown layout %d", int(l))
		}
		o.layout = l
		return nil
	}
}

// shape is the form of a kind of contender in a layout.
type shape struct {
	name string
	form znode.Form
}

var shapes = map[Layout]map[znode.Kind]shape{
	Simple:        {znode.Lock: {"", znode.Alone}},
	Curator:       {znode.Lock: {"lock-", znode.Dashed}, znode.Read: {"__READ__", znode.Dashed}, znode.Write: {"__WRIT__", znode.Dashed}},
	Kazoo:         {znode.Lock: {"__lock__", znode.Bare}, znode.Read: {"__rlock__", znode.Bare}, znode.Write: {"__lock__", znode.Bare}},
	JavaWriteLock: {znode.Lock: {"x-", znode.OfSession}},
	GoZooKeeper:   {znode.Lock: {"lock-", znode.Undashed}},
}

// in is the kind in a layout.
func (k kind) in(l Layout) (kind, error) {
	if l == Troupe {
		return k, nil
	}
	s, ok := shapes[l][k.of]
	if !ok {
		return k, fmt.Errorf("WithLayout: %w: the layout %v has no %v", session.ErrUnsupported, l, k.of)
	}
	k.name, k.form = s.name, s.form
	return k, nil
}

// errNotInLine refuses a path that is not that of a contender in a queue. A lock of the layout
// Simple has no queue.
var errNotInLine = fmt.Errorf("contenderPath: not the path of a contender (a lock with the layout Simple has none): %w", session.ErrUnsupported)

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
