package lock

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/troupe-go/troupe/internal/enum"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/internal/contend"
	"github.com/troupe-go/troupe/session"
)

// kind has the differences between the locks of the constructors.
type kind struct {
	of   znode.Kind
	name string // how the own znode's name begins, behind the protection's GUID
	form znode.Form
	rule contend.Rule

	permits int // of a semaphore
	delay   time.Duration
}

// with applies the options to the kind.
func (k kind) with(o options) (kind, error) {
	k, err := k.in(o.layout)
	if err != nil {
		return k, err
	}
	if notes, _ := znode.ParseNotes(o.claims.Data); k.of != znode.Lock && o.layout != Troupe && (notes.Held || notes.Placed > 0) {
		return k, errors.New("WithData: data must not begin like a note of the recipe, in this layout")
	}
	if k.delay = o.delay; k.delay > 0 && (k.of != znode.Lock || o.layout != Troupe) {
		return k, fmt.Errorf("WithDelay: %w: only exclusive locks in Troupe's own layout have delays", session.ErrUnsupported)
	}
	switch {
	case k.permits == 0 && o.weight != 0:
		return k, errors.New("WithWeight: only a semaphore has weights")
	case k.permits == 0:
		return k, nil
	case o.weight > k.permits:
		return k, fmt.Errorf("WithWeight: n: %d is more than the %d permits", o.weight, k.permits)
	}
	k.name = fmt.Sprintf("lease-%d-", max(o.weight, 1))
	return k, nil
}

// limit is the initial data of a semaphore's path; nil for all other locks.
func (k kind) limit() []byte {
	if k.permits == 0 {
		return nil
	}
	return strconv.AppendInt(nil, int64(k.permits), 10)
}

// machine creates a machine for a lock of this kind.
func (k kind) machine(path string, data []byte) machine.Machine {
	if k.form == znode.Alone {
		return contend.NewSingle(path)
	}
	return contend.New(contend.Config{Parent: path, Rule: k.rule, Data: data, Delay: int64((k.delay + time.Millisecond - 1) / time.Millisecond)})
}

var exclusive = kind{of: znode.Lock, name: "lock-", rule: contend.Exclusive()}

var (
	reader = kind{of: znode.Read, name: "read-", rule: contend.Shared()}
	writer = kind{of: znode.Write, name: "write-", rule: contend.Shared()}
)

// NewRead creates the read side of a shared lock: readers hold it together, and never beside a
// writer. Contenders are served in order of arrival, so a reader also waits for a waiting writer
// ahead of it, and readers cannot starve writers. It also waits for exclusive locks of [New] on the
// same path. Otherwise it behaves like a lock of [New].
//
// An instance serves its callers one after the other, like every [Lock]: readers in one process
// that want to hold at the same time need an instance each.
func NewRead(s *session.Session, path string, opts ...Option) (*Lock, error) {
	return build("lock.NewRead", s, path, reader, opts)
}

// NewWrite creates the write side of a shared lock: a writer holds it alone. [Grant.Downgrade]
// turns its grant into one of the read side. There is no upgrade: a request for the write side in
// the context of a grant of the read side is refused with [ErrUpgrade]. Otherwise it behaves like a
// lock of [New].
func NewWrite(s *session.Session, path string, opts ...Option) (*Lock, error) {
	return build("lock.NewWrite", s, path, writer, opts)
}

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

	// Page is the layout of the locks, shared locks and revocable locks that ZooKeeper's recipe
	// page describes ("<guid>-lock-", "<guid>-read-", "<guid>-write-").
	Page
)

// String is the layout's name.
func (l Layout) String() string {
	return enum.Name("Layout", l, "Troupe", "Simple", "Curator", "Kazoo", "JavaWriteLock", "GoZooKeeper", "Page")
}

// WithLayout uses the znode names of another library. If that layout has no form for the kind of
// lock, the constructor returns session.ErrUnsupported.
func WithLayout(l Layout) Option {
	return func(o *options) error {
		if l < 0 || l > Page {
			return fmt.Errorf("WithLayout: unknown layout %d", int(l))
		}
		o.layout = l
		return nil
	}
}

// shape is how a layout names the znodes of a kind.
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
	Page:          {znode.Lock: {"lock-", znode.Page}, znode.Read: {"read-", znode.Page}, znode.Write: {"write-", znode.Page}},
}

// in translates the kind into a layout.
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

// simple is true if the lock is one znode, at its own path.
func (l *Lock) simple() bool { return l.kind.form == znode.Alone }
