package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// Multi acquires several locks together, all or none. It only combines its locks: it has no znode
// and no goroutine of its own. It is safe for concurrent use.
//
// The locks are acquired one after the other in the order of their absolute paths, which need not
// be that of the arguments. So two callers that both use a Multi never wait for each other in a
// circle. Nested calls of [Lock.Lock] have to follow the same order themselves.
//
// While a Multi waits for one lock it holds those before it, and others wait for them.
type Multi struct {
	locks []*Lock // in canonical order
	life  *recipe.Handle

	mu     sync.Mutex
	grants map[*MultiGrant]struct{} // those that have not ended
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

// record keeps a grant until it ends, so that Close ends it; false if the Multi is closed already.
func (m *Multi) record(g *MultiGrant) bool {
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

// Lock waits until all locks are held. If a lock is lost while it waits for another, that lock and
// those after it in the order are acquired again. ctx bounds the wait, not the possession. If it
// ends first, or one lock cannot be acquired at all, the locks that were held are released, no
// grant comes of the call later, and the error is returned: ctx's cause, or that of [Lock.Lock].
// [ErrDeadlock] and [ErrUpgrade] are returned before anything is requested.
func (m *Multi) Lock(ctx context.Context) (*MultiGrant, error) {
	return m.lock(ctx, recipe.Asked{At: recipe.Caller()})
}

func (m *Multi) lock(ctx context.Context, by recipe.Asked) (*MultiGrant, error) {
	next := func(ctx context.Context, l *Lock) (*Grant, error) { return l.claim(ctx, "lock", false, by) }
	return m.take(ctx, next, func(held []*Grant) { giveUp(held) })
}

// TryLock acquires all locks if no contender is ahead in any of them; otherwise it returns
// [ErrHeld], once ZooKeeper has confirmed that nothing of this attempt is left, or ctx has ended.
// It does not wait for other contenders, but others may find a lock held that this call has
// acquired and is about to release.
func (m *Multi) TryLock(ctx context.Context) (*MultiGrant, error) {
	by := recipe.Asked{At: recipe.Caller()}
	next := func(ctx context.Context, l *Lock) (*Grant, error) { return l.claim(ctx, "try lock", true, by) }
	return m.take(ctx, next, func(held []*Grant) { _ = release(ctx, held) })
}

// take acquires the locks one by one with next. If one cannot be acquired, leave gets the grants
// that are held.
func (m *Multi) take(ctx context.Context, next func(context.Context, *Lock) (*Grant, error), leave func([]*Grant)) (*MultiGrant, error) {
	if err := m.refusal(ctx); err != nil {
		return nil, err
	}
	ctx, leaving := m.life.Within(ctx)
	defer leaving()
	var held []*Grant
	for {
		held = standing(held)
		if len(held) == len(m.locks) {
			g := newMultiGrant(held)
			if !m.record(g) {
				leave(held)
				return nil, m.life.Err()
			}
			if g.Err() == nil {
				return g, nil
			}
			continue // a part was lost at the last moment
		}
		g, err := under(ctx, held, func(ctx context.Context) (*Grant, error) { return next(ctx, m.locks[len(held)]) })
		switch {
		case err == nil:
			held = append(held, g)
		case ctx.Err() != nil || !lost(held):
			leave(held)
			return nil, err
		}
	}
}

// refusal is an error for a wait that could never end, before anything is requested.
func (m *Multi) refusal(ctx context.Context) error {
	for _, l := range m.locks {
		if err := l.endless(ctx); err != nil {
			return failed(l.session, "lock", l.path, err)
		}
	}
	return nil
}

// under calls wait with a context that ends with ctx or with the first of the grants.
func under(ctx context.Context, held []*Grant, wait func(context.Context) (*Grant, error)) (*Grant, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, g := range held {
		stop := context.AfterFunc(g.Context(), func() { cancel(g.Err()) })
		defer stop()
	}
	return wait(inner)
}

// standing are the grants before the first that has ended. The grants after it are released, so
// that all are acquired in order again.
func standing(held []*Grant) []*Grant {
	i := slices.IndexFunc(held, over)
	if i < 0 {
		return held
	}
	giveUp(held[i:])
	return held[:i:i]
}

func lost(held []*Grant) bool { return slices.ContainsFunc(held, over) }

func over(g *Grant) bool { return g.Err() != nil }

// Do acquires all locks, calls f, and releases them. f's context descends from ctx and ends with
// the grant. The locks are released only after f has returned, unless one was lost. In that case Do
// returns an error that is session.ErrLost, even if f returned nil. Otherwise it returns f's error,
// or why the locks could not be acquired, or why their release could not be confirmed.
func (m *Multi) Do(ctx context.Context, f func(ctx context.Context, g *MultiGrant) error) error {
	if f == nil {
		return failed(m.locks[0].session, "do", m.locks[0].path, errors.New("f: nil"))
	}
	g, err := m.lock(ctx, recipe.Asked{At: recipe.Caller(), Lasts: true})
	if err != nil {
		return err
	}
	released := false
	release := func() error {
		released = true
		rctx, cancel := recipe.Afterwards(ctx, g.Session())
		defer cancel()
		return g.Release(rctx)
	}
	defer func() { // f panicked, or ended its goroutine
		if !released {
			_ = release()
		}
	}()
	inner, cancel := recipe.Within(ctx, g.Hold)
	err = f(inner, g)
	cancel()
	if lost := g.Err(); lost != nil && !errors.Is(lost, session.ErrReleased) {
		released = true
		return errors.Join(err, failed(m.locks[0].session, "do", m.locks[0].path, lost))
	}
	return errors.Join(err, release())
}

// MultiGrant is one possession of all the locks of a [Multi]. It ends with the first of its parts
// that ends, at the same instant and with the same Err. The other parts are then released
// automatically, and end with session.ErrReleased; after a loss their delays ([WithDelay]) apply
// all the same. Its Path and Token are those of the first part in the order of the paths;
// [MultiGrant.Grants] has those of every part. Commit happens only while all parts are valid, and
// is session.ErrUnsupported if they belong to several sessions.
type MultiGrant struct {
	*session.Hold
	grants []*Grant
	end    func(cause error) bool
	closed atomic.Bool // by Multi.Close
}

func newMultiGrant(grants []*Grant) *MultiGrant {
	g := &MultiGrant{grants: slices.Clone(grants)}
	holds := make([]*session.Hold, len(grants))
	for i, part := range grants {
		holds[i] = part.Hold
	}
	g.Hold, g.end = recipe.JoinHolds(holds, g.leave)
	return g
}

// Grants are the parts, in the order of their paths: for their tokens, their sequencers, and their
// [Grant.Revoked]. If a part is released or downgraded, the whole ends.
func (g *MultiGrant) Grants() []*Grant { return slices.Clone(g.grants) }

// Release releases all parts: Done closes first, then the znodes are deleted; nil means that
// ZooKeeper has confirmed all deletions. For a grant that was lost before, it returns
// session.ErrLost. If ctx ends first its error is returned, and the deletions go on in the
// background until the epochs end. A ctx that ends with the grant itself, as in [Multi.Do], is
// replaced by one that lasts for a session timeout. It is idempotent.
func (g *MultiGrant) Release(ctx context.Context) error {
	if slices.ContainsFunc(g.grants, func(part *Grant) bool { return part.lock.instance.HeldIn(ctx) }) {
		var cancel context.CancelFunc
		ctx, cancel = recipe.Afterwards(ctx, g.Session())
		defer cancel()
	}
	g.end(session.ErrReleased)
	g.leave(g.Err())
	err := release(ctx, g.grants)
	if over := g.Err(); !errors.Is(over, session.ErrReleased) {
		return failed(g.grants[0].lock.session, "release", g.grants[0].lock.path, over)
	}
	return err
}

// leave ends the parts without waiting. If the whole was lost, its other parts count as lost too,
// not as released: their delays apply.
func (g *MultiGrant) leave(reason error) {
	if errors.Is(reason, session.ErrReleased) || g.closed.Load() {
		giveUp(g.grants)
		return
	}
	for _, part := range slices.Backward(g.grants) {
		part.of.Lose()
	}
}

// release releases grants and waits for the confirmation of all.
func release(ctx context.Context, grants []*Grant) error {
	giveUp(grants)
	errs := make([]error, len(grants))
	var confirmed sync.WaitGroup
	for i, g := range grants {
		confirmed.Go(func() { errs[i] = g.Release(ctx) }) // owned by this call, which waits for it
	}
	confirmed.Wait()
	return errors.Join(errs...)
}

// giveUp ends grants, in reverse order of acquisition, without waiting.
func giveUp(grants []*Grant) {
	for _, g := range slices.Backward(grants) {
		g.of.GiveUp()
	}
}
