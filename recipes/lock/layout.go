package lock

import (
	"fmt"

	"github.com/troupe-go/troupe/internal/enum"
	"github.com/troupe-go/troupe/internal/znode"
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
