package lock

import (
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Layout is how a lock's znodes are named. Troupe's own lock understands and respects the others'
// contenders on its path, so a layout is for the sake of libraries that do not understand Troupe's.
type Layout int

// The layouts.
const (
	// Troupe is the default. It has the names of Curator's InterProcessMutex.
	Troupe Layout = iota

	// Simple is one plain ephemeral znode at the lock's own path, the first form of a lock in
	// ZooKeeper's paper: whoever creates it holds. So do Kafka's brokers choose their controller,
	// and HBase its master. There is no line: everybody who waits is woken when it goes and tries,
	// in no order. Use it for such paths, and nowhere else: see docs/recipes/simple-lock.md.
	//
	// The znode contains just what [WithData] says, or a GUID. A holder cannot be asked to give up
	// by [Revoke], which would change those data for others: session.ErrUnsupported.
	Simple

	// Curator is Troupe's layout for exclusive locks, and that of Curator's
	// InterProcessReadWriteLock ("__READ__", "__WRIT__") for the two sides of a shared lock.
	Curator

	// Kazoo is that of the Python library kazoo: its Lock, ReadLock and WriteLock
	// ("<uuid>__lock__", "<uuid>__rlock__").
	Kazoo

	// JavaWriteLock is that of WriteLock among ZooKeeper's Java recipes ("x-<session>-"), which has
	// exclusive locks only. The znode contains what [WithData] says, or a GUID.
	JavaWriteLock

	// GoZooKeeper is that of the lock in the library go-zookeeper, which has exclusive locks only.
	GoZooKeeper
)

var layoutNames = [...]string{
	Troupe: "Troupe", Simple: "Simple", Curator: "Curator", Kazoo: "Kazoo", JavaWriteLock: "JavaWriteLock", GoZooKeeper: "GoZooKeeper",
}

// String is the layout's name.
func (l Layout) String() string {
	if l < 0 || int(l) >= len(layoutNames) {
		return fmt.Sprintf("Layout(%d)", int(l))
	}
	return layoutNames[l]
}

// WithLayout names the znodes as another library does. What that layout has no form for is refused
// by the constructor with session.ErrUnsupported.
func WithLayout(l Layout) Option {
	return func(o *options) error {
		if l < 0 || int(l) >= len(layoutNames) {
			return fmt.Errorf("WithLayout: unknown layout %d", int(l))
		}
		o.layout = l
		return nil
	}
}

// shape is what a kind of contender looks like in a layout.
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

// in is the kind as the layout writes it.
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

// errNotInLine refuses a path that is no contender's in a line. A lock of the layout Simple has
// none.
var errNotInLine = errors.New("contenderPath: not the path of a contender; the holder of a lock of the layout Simple can't be asked")
