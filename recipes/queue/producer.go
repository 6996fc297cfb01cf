package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
	"github.com/troupe-go/troupe/session"
)

// Put adds an item at the end of its priority, and returns its id: the one given with WithID, or a
// generated one. When it returns without an error, the item is in ZooKeeper, behind every item of
// its priority whose Put had returned before this one began. Concurrent puts share a transaction.
//
// Errors: ErrFull, ErrDuplicate, session.ErrTooLarge and, with Under, session.ErrLost mean that
// nothing was put. If ctx ends before anything was sent, its cause is returned; if it ends later,
// session.ErrUnknownOutcome comes with it. A lost reply is not an error: Put reads whether the item
// was put. Only if the process could not reach ZooKeeper for more than a minute after the reply was
// lost, the error is session.ErrUnknownOutcome; with WithID, such a Put can be repeated.
func (q *Queue) Put(ctx context.Context, data []byte, opts ...PutOption) (id string, err error) {
	ids, err := q.put(ctx, [][]byte{data}, opts)
	if err != nil {
		return "", failed("put", q.path, err)
	}
	return ids[0], nil
}

// PutAll adds several items, in their order, in one transaction: all of them or none. The options
// apply to each of them. Otherwise it is like Put.
func (q *Queue) PutAll(ctx context.Context, items [][]byte, opts ...PutOption) ([]string, error) {
	if len(items) == 0 {
		return nil, failed("put all", q.path, errors.New("items: none given"))
	}
	ids, err := q.put(ctx, items, opts)
	return ids, failed("put all", q.path, err)
}

func (q *Queue) put(ctx context.Context, data [][]byte, opts []PutOption) ([]string, error) {
	o, err := putOptionsOf(q, len(data), opts)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case o.under != nil && o.under.Err() != nil:
		return nil, lost(o.under.Err())
	}
	wish := produce.Put{Under: o.guard}
	for _, d := range data {
		wish.Items = append(wish.Items, produce.Item{
			ID: o.id, Headers: o.headers, Data: slices.Clone(d), Priority: o.priority, Delay: milliseconds(o.delay), Ephemeral: o.ephemeral,
		})
	}
	c, err := q.puts.begin(wish)
	if err == nil {
		err = q.puts.wait(ctx, c)
	}
	switch {
	case errors.Is(err, produce.ErrUnder):
		return nil, lost(o.under.Err())
	case err == nil && o.id != "":
		return []string{o.id}, nil
	case err == nil:
		return c.ids, nil
	}
	return nil, err
}

// prompt is how long a call whose context has ended waits to learn its outcome.
const prompt = 100 * time.Millisecond

// producer puts items for the callers of one Queue.
type producer struct {
	worker
	guid  string
	calls []*putting // waiting, in order
	no    uint64
}

func newProducer(q *Queue) *producer {
	p := &producer{worker: worker{queue: q, kind: "queue"}, guid: string(znode.NewGUID())}
	p.work = p
	return p
}

// putting is a waiting call of Put.
type putting struct {
	wish produce.Put // Again: it may have been carried out
	ids  []string    // of what was put
	done *notify.End
	late *notify.Latch // it is too late to withdraw it
}

// errDone ends a call that has succeeded.
var errDone = errors.New("done")

// succeeded is what came of a call.
func succeeded(done *notify.End) error {
	if err := done.Err(); !errors.Is(err, errDone) {
		return translated(err)
	}
	return nil
}

// begin has items put.
func (p *producer) begin(wish produce.Put) (*putting, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing || p.queue.session.Err() != nil {
		return nil, session.ErrClosed
	}
	p.no++
	wish.No, wish.GUID = p.no, string(znode.NewGUID())
	c := &putting{wish: wish, done: notify.NewEnd(), late: notify.NewLatch()}
	p.calls = append(p.calls, c)
	if !p.tell(c.wish) {
		if err := p.start(); err != nil {
			p.refuse(err)
		}
	}
	return c, nil
}

// wait waits until a call's items are in the queue. If ctx ends first, they are not put unless they
// were sent already.
func (p *producer) wait(ctx context.Context, c *putting) error {
	select {
	case <-c.done.Done():
		return succeeded(c.done)
	case <-ctx.Done():
	}
	p.notify(produce.Withdraw{No: c.wish.No})
	select {
	case <-c.done.Done():
		if errors.Is(c.done.Err(), produce.ErrWithdrawn) {
			return context.Cause(ctx)
		}
		return succeeded(c.done)
	case <-c.late.C():
	case <-time.After(prompt): // the actor is being restarted
	}
	return fmt.Errorf("%w: %w", session.ErrUnknownOutcome, context.Cause(ctx))
}

// putAgain puts items that were taken and that nobody has received.
func (p *producer) putAgain(ctx context.Context, items []*Item) error {
	errs := make([]error, 2*len(items))
	calls := make([]*putting, len(items))
	for n, i := range items {
		r := i.from.Record
		calls[n], errs[n] = p.begin(produce.Put{Back: true, Items: []produce.Item{{ID: r.ID, Headers: r.Headers, Data: r.Body, Priority: i.from.Priority}}})
	}
	for n, c := range calls {
		if c != nil {
			errs[len(items)+n] = p.wait(ctx, c)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("items that nobody had received are lost: %w", err)
	}
	return nil
}

// machine counts on the record: all calls so far are in it, or done. The first machine of an actor
// is told of them besides.
func (p *producer) machine(first bool) machine.Machine {
	cfg := produce.Config{Root: p.queue.root(), GUID: p.guid, Capacity: p.queue.cfg.capacity, Floor: p.no, Idle: milliseconds(idle)}
	if first {
		cfg.Floor = 0
	}
	return produce.New(cfg)
}

func (p *producer) renew(error) bool { return len(p.calls) > 0 }

func (p *producer) refuse(err error) {
	for _, c := range p.calls {
		cause := err
		if c.wish.Again {
			cause = fmt.Errorf("%w: %w", session.ErrUnknownOutcome, err)
		}
		c.done.Set(cause)
	}
	p.calls = nil
}

func (p *producer) standing() (wishes []machine.Event) {
	for _, c := range p.calls {
		wish := c.wish
		wish.Stands = true
		wishes = append(wishes, wish)
	}
	return wishes
}

// perform carries out the machine's effects for the callers.
func (p *producer) perform(e machine.Effect) {
	p.mu.Lock()
	defer p.mu.Unlock()
	with := func(no uint64, do func(at int, c *putting)) { // if it waits still
		if n, there := slices.BinarySearchFunc(p.calls, no, func(c *putting, no uint64) int { return cmp.Compare(c.wish.No, no) }); there {
			do(n, p.calls[n])
		}
	}
	switch e := e.(type) {
	case produce.Sending:
		for _, no := range e.Nos {
			with(no, func(_ int, c *putting) { c.wish.Again = true })
		}
	case produce.Late:
		with(e.No, func(_ int, c *putting) { c.late.Close() })
	case produce.Settled:
		with(e.No, func(at int, c *putting) {
			p.calls = slices.Delete(p.calls, at, at+1)
			c.ids = e.GUIDs
			c.done.Set(cmp.Or(e.Err, errDone))
		})
	}
}

// milliseconds rounds up: nothing is early.
func milliseconds(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}
