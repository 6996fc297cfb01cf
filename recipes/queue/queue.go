package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
	"github.com/troupe-go/troupe/session"
)

// Queue is a handle of a queue in ZooKeeper. It is safe for concurrent use. It ends with its
// session at the latest; Close ends it before.
type Queue struct {
	session *session.Session
	path    string
	cfg     options
	home    int // the part of a bounded queue's room that it uses first
	puts    *producer
	takes   *intake
	turns   atomic.Uint64 // of the shards
	end     *notify.End

	mu        sync.Mutex
	following bool // somebody wants to know of the session's end
	closing   *notify.Latch
	consumers map[*Consumer]struct{}
}

// New returns a handle of the queue at a path. It does no I/O: the path is created when the first
// item is put or taken. Errors name the invalid argument.
func New(s *session.Session, path string, opts ...Option) (*Queue, error) {
	if s == nil {
		return nil, errors.New("queue.New: s: nil session")
	}
	if err := znode.Validate(path); err != nil {
		return nil, failed("queue.New", path, fmt.Errorf("%w: path: %w", session.ErrInvalidPath, err))
	}
	if path == "/" {
		return nil, failed("queue.New", path, fmt.Errorf("%w: path: the root cannot be a queue", session.ErrInvalidPath))
	}
	o, err := optionsOf(path, opts)
	if err != nil {
		return nil, failed("queue.New", path, err)
	}
	q := &Queue{session: s, path: path, cfg: o, end: notify.NewEnd(), consumers: make(map[*Consumer]struct{})}
	q.puts = newProducer(q)
	q.home = home(q.puts.guid)
	q.takes = newIntake(q, "take")
	return q, nil
}

// Put adds an item at the end of its priority, and returns its id: the one given with WithID, or a
// generated one. When it returns without an error, the item is in ZooKeeper, behind every item of
// its priority whose Put had returned before this one began. Concurrent puts share a transaction,
// and many of them znodes, as the items of PutAll do.
//
// Errors: ErrFull, ErrDuplicate, session.ErrTooLarge and, with Under, session.ErrLost mean that
// nothing was put. If ctx ends before anything was sent, its cause is returned; if it ends later,
// session.ErrUnknownOutcome comes with it. A lost reply is not an error: Put reads whether the item
// was put. Only if the process could not reach ZooKeeper for more than a minute after the reply was
// lost, the error is session.ErrUnknownOutcome; with WithID, such a Put can be repeated.
func (q *Queue) Put(ctx context.Context, data []byte, opts ...PutOption) (id string, err error) {
	ids, err := q.put(ctx, "put", [][]byte{data}, opts)
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// PutAll adds several items, in their order, in one transaction: all of them or none. The options
// apply to each of them. Otherwise it is like Put.
func (q *Queue) PutAll(ctx context.Context, items [][]byte, opts ...PutOption) ([]string, error) {
	if len(items) == 0 {
		return nil, failed("put all", q.path, errors.New("items: none given"))
	}
	return q.put(ctx, "put all", items, opts)
}

func (q *Queue) put(ctx context.Context, op string, data [][]byte, opts []PutOption) ([]string, error) {
	o, err := putOptionsOf(q, len(data), opts)
	if err != nil {
		return nil, failed(op, q.path, err)
	}
	if err := q.open(); err != nil {
		return nil, failed(op, q.path, err)
	}
	shard := 0
	if q.cfg.shards > 1 {
		shard = int(q.turns.Add(1) % uint64(q.cfg.shards))
	}
	wish := produce.Put{Under: o.guard, Items: make([]produce.Item, len(data))}
	for n, d := range data {
		wish.Items[n] = produce.Item{
			ID: o.id, Headers: o.headers, Data: append([]byte(nil), d...), Priority: o.priority, Shard: shard,
			Delay: milliseconds(o.delay), Ephemeral: o.ephemeral,
		}
	}
	if o.under != nil && o.under.Err() != nil {
		return nil, failed(op, q.path, lost(o.under.Err()))
	}
	ids, err := q.puts.put(ctx, wish)
	if errors.Is(err, produce.ErrUnder) {
		err = lost(o.under.Err())
	}
	if err != nil {
		return nil, failed(op, q.path, err)
	}
	if o.id != "" {
		ids[0] = o.id
	}
	return ids, nil
}

// Done closes when the handle has ended: by Close, or with its session. Err then says why.
func (q *Queue) Done() <-chan struct{} {
	q.follow()
	return q.end.Done()
}

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed.
func (q *Queue) Err() error {
	q.follow()
	return q.end.Err()
}

// follow learns of the session's end, once somebody wants to know of it.
func (q *Queue) follow() {
	select {
	case <-q.session.Done():
		q.ended()
		return
	default:
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.following {
		return
	}
	q.following = true
	go func() { // ends with the handle, or with its session
		select {
		case <-q.session.Done():
			q.ended()
		case <-q.end.Done():
		}
	}()
}

func (q *Queue) ended() { q.end.Set(failed("queue", q.path, session.ErrClosed)) }

// open tells whether the handle can be used.
func (q *Queue) open() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing != nil {
		return session.ErrClosed
	}
	return nil
}

// Close ends the handle. What waits to be put is put first; waiting calls of Take return
// session.ErrClosed; its consumers end; items that they or Take have handed out and that are not
// settled are lost (session.ErrClosed). It returns when ZooKeeper has confirmed that others can
// have them. If ctx ends first its cause is returned, and the rest is done in the background. The
// items that were put stay. It is idempotent.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	first := q.closing == nil
	if first {
		q.closing = notify.NewLatch()
	}
	closed := q.closing
	consumers := make([]*Consumer, 0, len(q.consumers))
	for c := range q.consumers {
		consumers = append(consumers, c)
	}
	q.mu.Unlock()
	if !first {
		select {
		case <-closed.C():
			return nil
		case <-q.session.Done():
			return nil
		case <-ctx.Done():
			return failed("close", q.path, context.Cause(ctx))
		}
	}
	err := q.finish(ctx, consumers)
	q.ended()
	closed.Close()
	return failed("close", q.path, err)
}

// finish ends whoever takes items, and then the producer: it puts what they give back.
func (q *Queue) finish(ctx context.Context, consumers []*Consumer) error {
	errs := make([]error, len(consumers)+2)
	var group sync.WaitGroup
	for n, c := range consumers {
		group.Go(func() { errs[n] = c.Close(ctx) }) // ends with ctx at the latest
	}
	group.Go(func() { errs[len(consumers)] = q.takes.close(ctx) }) // as well
	group.Wait()
	errs[len(consumers)+1] = q.puts.close(ctx)
	return errors.Join(errs...)
}

// root is the queue's path.
func (q *Queue) root() layout.Root { return layout.Root(q.path) }
