package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// Multi acquires several locks together, all or none. It only combines its locks: it has no znode
// and no goroutine of its own. It is safe for concurrent use.
//
// The locks are acquired one after the other in the order of their absolute paths, whatever order
// they were named in. So two callers that both use a Multi never wait for each other in a circle.
// Nested calls of [Lock.Lock] have to follow the same order themselves.
//
// While a Multi waits for one lock it holds those before it, and others wait for them.
type Multi struct {
	locks []*Lock // in canonical order
	life  *recipe.Handle

	mu     sync.Mutex
	grants map[*MultiGrant]struct{} // that stand
}

// NewMulti combines locks of any kind, of one session or of several. It does no I/O. The order of
// the arguments does not matter.
//
// Two locks on one path are refused, because the second would wait for the first. They are refused
// even if they belong to sessions on different servers: the addresses do not tell whether these are
// two ensembles or one under two names, and there would be no order that every process agrees on.
func NewMulti(locks ...*Lock) (*Multi, error) {
	if len(locks) == 0 {
		return nil, errors.New("lock.NewMulti: locks: none given")
	}
	at := make(map[string]int, len(locks))
	for i, l := range locks {
		if l == nil {
			return nil, fmt.Errorf("lock.NewMulti: locks[%d]: nil", i)
		}
		if before, twice := at[l.absolute()]; twice {
			return nil, failed(l.session, "lock.NewMulti", l.path, fmt.Errorf("locks[%d]: same path as locks[%d]", i, before))
		}
		at[l.absolute()] = i
	}
	m := &Multi{locks: slices.Clone(locks), life: recipe.NewHandle(nil, "multi", locks[0].path), grants: make(map[*MultiGrant]struct{})}
	slices.SortFunc(m.locks, func(a, b *Lock) int { return cmp.Compare(a.absolute(), b.absolute()) })
	return m, nil
}

// Close ends the waits of this Multi and its grants, with session.ErrClosed, and returns when
// ZooKeeper has confirmed the deletions. Its locks stay open. If ctx ends first its cause is
// returned, and the deletions go on in the background. It is idempotent.
func (m *Multi) Close(ctx context.Context) error {
	m.mu.Lock()
	m.life.Close()
	grants := slices.Collect(maps.Keys(m.grants))
	m.mu.Unlock()
	errs := make([]error, len(grants))
	var ending sync.WaitGroup
	for n, g := range grants {
		g.closed.Store(true)
		g.end(session.ErrClosed)
		ending.Go(func() { errs[n] = release(ctx, g.grants) }) // ends with ctx at the latest
	}
	ending.Wait()
	return failed(m.locks[0].session, "close", m.locks[0].path, errors.Join(errs...))
}

// Done closes with Close. The locks have ends of their own.
func (m *Multi) Done() <-chan struct{} { return m.life.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed.
func (m *Multi) Err() error { return m.life.Err() }

// note keeps a grant until it ends; false if it comes too late.
func (m *Multi) note(g *MultiGrant) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life.Err() != nil {
		return false
	}
	m.grants[g] = struct{}{}
	context.AfterFunc(g.Context(), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.grants, g)
	})
	return true
}

// absolute is the lock's path as every session sees it: with the chroot and the namespace.
func (l *Lock) absolute() string { return l.session.Path(l.path) }
