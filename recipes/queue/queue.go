package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipe"
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
	puts    *produce.Producer // for callers, and for items that WithAutoAck puts back
	back    *produce.Producer // moves items that pause or are due, even while puts of callers are held up
	dead    *produce.Producer // moves dead letters
	takes   *intake
	life    *recipe.Handle

	mu        sync.Mutex
	closing   bool
	consumers map[*Consumer]struct{}
}

// New returns a handle of the queue at a path, whose options, but for the capacity, bind only this
// handle. It does no I/O: the first put or take creates the path. Errors name the invalid argument.
func New(s *session.Session, path string, opts ...Option) (*Queue, error) {
	if err := recipe.CheckNew("queue.New", s, "path", path); err != nil {
		return nil, err
	}
	if path == "/" {
		return nil, recipe.Failed(s, "queue.New", path, fmt.Errorf("%w: path: the root cannot be a queue", session.ErrInvalidPath))
	}
	o, err := optionsOf(s, path, opts)
	if err != nil {
		return nil, recipe.Failed(s, "queue.New", path, err)
	}
	q := &Queue{session: s, path: path, cfg: o, life: recipe.NewHandle(s, "queue", path), consumers: make(map[*Consumer]struct{})}
	q.puts = produce.New(s, q.root(), o.capacity)
	q.back, q.dead = produce.NewMover(s, q.root()), produce.NewMover(s, layout.Root(o.dead))
	q.puts.ACL, q.back.ACL, q.dead.ACL = o.acl, o.acl, o.acl
	q.takes = newIntake(q, "take")
	return q, nil
}

// Done closes when the handle has ended: by Close, or with its session. Err then says why.
func (q *Queue) Done() <-chan struct{} { return q.life.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed.
func (q *Queue) Err() error { return q.life.Err() }

// Close ends the handle. Puts that wait are carried out first; waiting calls of Take return
// session.ErrClosed; its consumers end; items that they or Take have handed out and that are not
// settled are lost (session.ErrClosed). It returns when ZooKeeper has confirmed that others can
// have them. If ctx ends first its cause is returned, and the rest is done in the background. The
// items that were put stay. It is idempotent.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	first := !q.closing
	q.closing = true
	consumers := slices.Collect(maps.Keys(q.consumers))
	q.mu.Unlock()
	if !first {
		return recipe.Failed(q.session, "close", q.path, notify.Wait(ctx, q.Done()))
	}
	closes := []func(context.Context) error{q.takes.close}
	for _, c := range consumers {
		closes = append(closes, c.Close)
	}
	errs := make([]error, len(closes)+1)
	var group sync.WaitGroup
	for n, end := range closes {
		group.Go(func() { errs[n] = end(ctx) }) // ends with ctx at the latest
	}
	group.Wait()
	errs[len(closes)] = q.puts.Close(ctx) // last: it puts items that the consumers give back
	q.life.Close()
	return recipe.Failed(q.session, "close", q.path, errors.Join(errs...))
}

func (q *Queue) root() layout.Root { return layout.Root(q.path) }

// Put adds an item at the end of its priority, and returns its id: the one given with WithID, or a
// generated one. When it returns without an error, the item is in ZooKeeper, behind every item of
// its priority whose Put had returned before this one began. Concurrent puts share a transaction.
//
// Errors: ErrFull, ErrDuplicate, session.ErrTooLarge and, with WithHold, session.ErrLost mean that
// nothing was put. If ctx ends before anything was sent, its cause is returned; if it ends later,
// session.ErrUnknownOutcome comes with it. A lost reply is not an error: Put reads whether the item
// was put. Only if the session has expired meanwhile, and the next one did not begin within a
// minute or so, the error is session.ErrUnknownOutcome; with WithID, such a Put can be repeated.
func (q *Queue) Put(ctx context.Context, data []byte, opts ...PutOption) (id string, err error) {
	ids, err := q.put(ctx, [][]byte{data}, opts)
	if err != nil {
		return "", recipe.Failed(q.session, "put", q.path, err)
	}
	return ids[0], nil
}

// PutAll adds several items, in their order, in one transaction: all of them or none. The options
// apply to each of them. Otherwise it is like Put.
func (q *Queue) PutAll(ctx context.Context, items [][]byte, opts ...PutOption) ([]string, error) {
	if len(items) == 0 {
		return nil, recipe.Failed(q.session, "put all", q.path, errors.New("items: none given"))
	}
	ids, err := q.put(ctx, items, opts)
	return ids, recipe.Failed(q.session, "put all", q.path, err)
}

func (q *Queue) put(ctx context.Context, data [][]byte, opts []PutOption) ([]string, error) {
	o, err := putOptionsOf(ctx, q, len(data), opts)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case o.hold != nil && o.hold.Err() != nil:
		return nil, lost(o.hold.Err())
	}
	put := produce.Put{Delay: milliseconds(o.delay), Ephemeral: o.ephemeral, With: o.guard}
	for _, d := range data {
		put.Items = append(put.Items, layout.Record{About: layout.About{ID: o.id, Headers: o.headers, Priority: o.priority}, Body: d})
	}
	began := time.Now()
	ids, err := q.puts.Begin(put).Wait(ctx)
	switch {
	case err != nil && o.hold != nil && o.hold.Err() != nil && errors.Is(err, session.ErrLost):
		ids, err = nil, lost(o.hold.Err())
	case err == nil && o.id != "":
		ids = []string{o.id}
	}
	q.tell(session.Event{Kind: session.EventItemPut, Name: append(ids, o.id)[0], Attempt: len(data), To: refusal(err), Took: time.Since(began), Err: err})
	return ids, err
}

// refusal is the word for why nothing was put, in events.
func refusal(err error) string {
	switch {
	case errors.Is(err, ErrFull):
		return "full"
	case errors.Is(err, ErrDuplicate):
		return "duplicate"
	}
	return ""
}

// milliseconds rounds up: nothing is early.
func milliseconds(d time.Duration) int64 {
	return d.Milliseconds() + int64(max(0, min(d%time.Millisecond, 1)))
}

var (
	// ErrEmpty: there is no unclaimed item.
	ErrEmpty error = layout.ErrEmpty

	// ErrFull: when ZooKeeper was asked, the queue had as many items as WithCapacity allows,
	// including those that are being processed or wait for their delay.
	ErrFull error = layout.ErrFull

	// ErrDuplicate: an item with this id waits, is delayed or being processed. Nothing was put.
	ErrDuplicate error = layout.ErrDuplicate

	// ErrCapacity: the queue has another capacity, or it had items before a capacity was set.
	ErrCapacity error = layout.ErrCapacity

	// ErrOverdue is the cause of a loss: the item was not acknowledged or returned within its
	// visibility timeout.
	ErrOverdue = errors.New("not settled in time")
)

// lost turns the end of an item into the error of a late Ack or Nack: for these, an earlier release
// is a loss too.
func lost(err error) error {
	if errors.Is(err, session.ErrLost) {
		return err
	}
	return fmt.Errorf("%w: %w", session.ErrLost, err)
}

// errDone ends a call that has succeeded.
var errDone = errors.New("done")
