package plain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// ErrEmpty: no item can be taken now.
var ErrEmpty = errors.New("the queue is empty")

// Queue is one in another library's layout. It is safe for concurrent use.
type Queue struct {
	session *session.Session
	path    string
	entries string // where the items are
	taken   string // where the claims are; "" if the layout has none
	kind    Layout
	layout  layout

	slots  chan struct{} // of transactions
	turn   chan struct{} // of those who take, one at a time
	ahead  []item        // where these are in order, from the last listing; of whoever has the turn
	kept   chan struct{} // something was left
	claims *claims

	open, life context.Context // until Close begins, and until it ends
	shut, end  context.CancelCauseFunc
	calls      sync.WaitGroup

	mu       sync.Mutex
	receipts []*receipt // that are not in use
	left     []Entry    // taken, and not delivered
}

// Entry is an item.
type Entry struct {
	Name     string // of the znode
	Data     []byte
	Priority int
	Path     string
}

// New returns the queue at a path. It does no I/O.
func New(s *session.Session, path string, l Layout) *Queue {
	q := &Queue{
		session: s, path: path, entries: path, kind: l, layout: layouts[l],
		slots: make(chan struct{}, slots), turn: make(chan struct{}, 1), kept: make(chan struct{}, 1),
	}
	if q.layout.entries != "" {
		q.entries, q.taken = znode.Join(path, q.layout.entries), znode.Join(path, q.layout.taken)
	}
	q.claims = newClaims(q)
	q.open, q.shut = context.WithCancelCause(context.Background())
	q.life, q.end = context.WithCancelCause(context.Background())
	return q
}

// large is from where on an item may be too large to be claimed, which writes its data again beside
// other names. So ballast is put with it.
const (
	large   = 256 << 10
	ballast = 4 << 10
)

// Put puts items at the end of their priority, in one transaction, and returns their names. A name
// is "" if the answer was lost and the item is gone before its name was known. Errors:
// [session.ErrUnsupported] for what the layout can't express; those of [session.Session.Multi], of
// which [session.ErrUnknownOutcome] comes only with the end of ctx or the session, or after an
// outage of more than a minute.
func (q *Queue) Put(ctx context.Context, data [][]byte, priority int, delay time.Duration) ([]string, error) {
	switch {
	case !q.layout.delays && delay > 0:
		return nil, fmt.Errorf("WithDelay: %w in this layout", session.ErrUnsupported)
	case priority != 0 || q.kind.Ranked():
		if err := q.kind.ValidPriority(priority); err != nil {
			return nil, err
		}
	}
	leave, err := q.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	return q.put(ctx, data, priority, delay)
}

func (q *Queue) put(ctx context.Context, data [][]byte, priority int, delay time.Duration) ([]string, error) {
	r := rank(priority)
	if q.layout.delays {
		r = rank(time.Now().Add(delay).UnixMilli())
	}
	head := znode.Join(q.entries, q.layout.head(r))
	var ops []session.Op
	weight := 0
	for _, d := range data {
		ops = append(ops, session.CreateOp(head, q.layout.wrap(d), session.Sequential()))
		if len(d) > large && q.taken != "" {
			weight = ballast
		}
	}
	for {
		w, err := q.once(ctx, weight, ops...)
		switch {
		case err == nil && w.results == nil:
			return q.namesOf(ctx, w.zxid, len(data)), nil
		case err == nil:
			names := make([]string, len(data))
			for i, result := range w.results {
				_, names[i] = znode.Split(result.Path)
			}
			return names, nil
		case !errors.Is(err, session.ErrNoNode):
			return nil, err
		}
		if err := q.ensure(ctx, q.entries); err != nil {
			return nil, err
		}
	}
}

// namesOf looks for the items that a transaction has put. Those that are gone were the first.
func (q *Queue) namesOf(ctx context.Context, zxid int64, n int) []string {
	names := make([]string, n)
	items, _ := q.list(ctx)
	slices.SortFunc(items, func(i, j item) int { return znode.CompareSeq(j.seq, i.seq) })
	for _, i := range items {
		stat, exists, err := q.session.Exists(ctx, i.Path)
		if err != nil || exists && stat.Czxid < zxid {
			break
		}
		if exists && stat.Czxid == zxid && n > 0 {
			n--
			names[n] = i.Name
		}
	}
	return names
}

// ensure makes a znode that others expect to stay when it is empty.
func (q *Queue) ensure(ctx context.Context, path string) error {
	_, err := q.session.Create(ctx, path, nil, session.Parents())
	if errors.Is(err, session.ErrNodeExists) || errors.Is(err, session.ErrUnknownOutcome) && ctx.Err() == nil {
		return nil
	}
	return err
}

// list lists the items, in no order.
func (q *Queue) list(ctx context.Context) ([]item, error) {
	names, _, err := q.session.Children(ctx, q.entries)
	var items []item
	for _, name := range names {
		if i, ok := q.layout.parse(name); ok {
			i.Path = znode.Join(q.entries, name)
			items = append(items, i)
		}
	}
	return items, err
}

// free lists the items that are not claimed, in order.
func (q *Queue) free(ctx context.Context) ([]item, error) {
	items, err := q.list(ctx)
	if err != nil {
		return nil, err
	}
	if q.taken != "" {
		taken, _, err := q.session.Children(ctx, q.taken)
		if unless(err, session.ErrNoNode) != nil {
			return nil, err
		}
		is := make(map[string]bool)
		for _, name := range taken {
			is[name] = true
		}
		items = slices.DeleteFunc(items, func(i item) bool { return is[i.Name] })
	}
	slices.SortFunc(items, item.compare)
	return items, nil
}

// due is how long it takes until an item can be taken; 0 if it can.
func (q *Queue) due(i item) time.Duration {
	if !q.layout.delays {
		return 0
	}
	return max(time.Until(time.UnixMilli(int64(i.rank))), 0)
}

// Peek returns the item that would be taken now; ErrEmpty if there is none. It sees all that was
// done before the call.
func (q *Queue) Peek(ctx context.Context) (Entry, error) {
	if err := q.session.Sync(ctx, q.path); err != nil {
		return Entry{}, err
	}
	items, err := q.free(ctx)
	if unless(err, session.ErrNoNode) != nil {
		return Entry{}, err
	}
	for _, i := range items {
		if q.due(i) > 0 {
			break
		}
		data, _, err := q.session.Get(ctx, i.Path)
		if errors.Is(err, session.ErrNoNode) {
			continue
		}
		if err != nil {
			return Entry{}, err
		}
		if all, ok := q.layout.unwrap(data); ok && len(all) > 0 {
			i.Data = all[0]
			return i.Entry, nil
		}
	}
	return Entry{}, ErrEmpty
}

// Len is the number of items, claimed and delayed ones included. What Curator has put together
// counts as one. It sees all that was done before the call.
func (q *Queue) Len(ctx context.Context) (int, error) {
	if err := q.session.Sync(ctx, q.path); err != nil {
		return 0, err
	}
	items, err := q.list(ctx)
	return len(items), unless(err, session.ErrNoNode)
}

// Remove deletes an item, and the claim on it if it has one; [session.ErrNoNode] if there is none.
// It sees all that was done before the call.
func (q *Queue) Remove(ctx context.Context, name string) error {
	leave, err := q.enter()
	if err != nil {
		return err
	}
	defer leave()
	if _, ok := q.layout.parse(name); !ok {
		return fmt.Errorf("id: %w: %q", session.ErrNoNode, name)
	}
	for {
		if err := q.session.Sync(ctx, q.path); err != nil {
			return err
		}
		path := znode.Join(q.entries, name)
		ops := []session.Op{session.DeleteOp(path, -1)}
		if q.taken != "" {
			claim := znode.Join(q.taken, name)
			_, exists, err := q.session.Exists(ctx, claim)
			if err != nil {
				return err
			}
			if exists {
				ops = append(ops, session.DeleteOp(claim, -1))
			}
		}
		w, err := q.once(ctx, 0, ops...)
		switch {
		case errors.Is(err, session.ErrNoNode) && w.failed(0):
			return fmt.Errorf("id: %w: %q", session.ErrNoNode, name)
		case !errors.Is(err, session.ErrNoNode): // otherwise the claim is gone meanwhile
			return err
		}
	}
}

// enter begins a call, which ends with leave.
func (q *Queue) enter() (leave func(), err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open.Err() != nil {
		return nil, context.Cause(q.open)
	}
	q.calls.Add(1)
	return q.calls.Done, nil
}

// Close ends the queue: claims that stand are given up ([session.ErrClosed]), and what was taken
// and not delivered is put again, at the end. It returns when others can have all of that. If ctx
// ends first its cause is returned: then claims are given up in the background, and what was taken
// is lost. Calls that wait get [session.ErrClosed]. It is idempotent.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	q.shut(session.ErrClosed)
	q.mu.Unlock()
	over := make(chan struct{})
	go func() { // ends with the calls, which end when this returns
		q.calls.Wait()
		close(over)
	}()
	defer q.end(session.ErrClosed)
	defer q.claims.leave()
	select {
	case <-over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := q.claims.giveUp(ctx); err != nil {
		return err
	}
	for len(q.left) > 0 {
		e := q.left[0]
		if _, err := q.put(ctx, [][]byte{e.Data}, e.Priority, 0); err != nil {
			return err
		}
		q.left = q.left[1:]
	}
	return q.forget(ctx)
}
