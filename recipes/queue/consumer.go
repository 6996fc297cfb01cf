package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/session"
)

// ConsumeOption configures a Consumer.
type ConsumeOption func(*consumeOptions) error

type consumeOptions struct {
	prefetch int // 0: it adapts
	workers  int
	auto     bool
}

const mostPrefetch = 10_000

// WithPrefetch lets a consumer have up to n items that are neither acknowledged nor returned: those
// that a receiver works on, and those that wait to be received. They are claimed together. With
// WithAutoAck, n limits the items that wait to be received.
//
// Without this option the number adapts: it begins at 1, or WithWorkers, and doubles up to 64 while
// items are settled faster than they can be fetched. When they are not, it falls again. What nobody
// works on goes back when another consumer waits.
func WithPrefetch(n int) ConsumeOption {
	return func(o *consumeOptions) error {
		if n < 1 || n > mostPrefetch {
			return fmt.Errorf("WithPrefetch: %d is not between 1 and %d", n, mostPrefetch)
		}
		o.prefetch = n
		return nil
	}
}

// WithWorkers tells how many goroutines receive from Items, so that the consumer claims an item for
// each from the beginning. The default is 1. WithPrefetch takes precedence.
func WithWorkers(n int) ConsumeOption {
	return func(o *consumeOptions) error {
		if n < 1 || n > mostPrefetch {
			return fmt.Errorf("WithWorkers: %d is not between 1 and %d", n, mostPrefetch)
		}
		o.workers = n
		return nil
	}
}

// WithAutoAck deletes items when it takes them: each is delivered at most once, and items that a
// process had taken are lost if it dies, up to the prefetch. It is cheaper, and is the queue of
// ZooKeeper's recipe page.
func WithAutoAck() ConsumeOption {
	return func(o *consumeOptions) error {
		o.auto = true
		return nil
	}
}

// Consumer takes items from a queue and delivers them on Items. It continues through disconnections
// and expired sessions, and skips what is in its way: see [Consumer.Errors].
type Consumer struct {
	queue   *Queue
	from    *intake // where it has its items from
	end     *notify.End
	skipped *reports
}

// Consume starts to take items, and returns at once. After Close, or for a closed session, the
// error is session.ErrClosed.
func (q *Queue) Consume(opts ...ConsumeOption) (*Consumer, error) {
	c, err := q.consume(opts)
	return c, failed("consume", q.path, err)
}

func (q *Queue) consume(opts []ConsumeOption) (*Consumer, error) {
	var o consumeOptions
	for i, opt := range opts {
		err := fmt.Errorf("opts[%d]: nil", i)
		if opt != nil {
			err = opt(&o)
		}
		if err != nil {
			return nil, err
		}
	}
	c := &Consumer{queue: q, end: notify.NewEnd(), skipped: newReports()}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing != nil || q.session.Err() != nil {
		return nil, session.ErrClosed
	}
	var err error
	if c.from, err = startIntake(c, o); err != nil {
		return nil, err
	}
	q.consumers[c] = struct{}{}
	return c, nil
}

// Items delivers the items, in order; several receivers compete for them. An item that is lost
// before it is received is withdrawn. The channel closes when the consumer has ended.
func (c *Consumer) Items() <-chan *Item { return c.from.stream.C() }

// Errors reports what the consumer has skipped, and goes on without: an item that it cannot read,
// one that it cannot move to the dead letters, a request that the servers refused. What was skipped
// is tried again later. The channel holds the last sixteen, drops the oldest for the next, and
// closes when the consumer has ended. Nobody needs to receive from it.
func (c *Consumer) Errors() <-chan error { return c.skipped.c }

// Done closes when the consumer has ended: by Close, or with its queue or session.
func (c *Consumer) Done() <-chan struct{} { return c.end.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed, after Close or with
// the session, or the cause of the failure.
func (c *Consumer) Err() error { return c.end.Err() }

// Close ends the consumer, and returns when other consumers can have its items. Items that were not
// received return to their positions; under WithAutoAck they are put anew, at the end of their
// priority. Items that were received and neither acknowledged nor returned are lost
// (session.ErrClosed). If ctx ends first its cause is returned, and the claims are deleted in the
// background. It is idempotent.
func (c *Consumer) Close(ctx context.Context) error {
	return failed("close", c.queue.path, c.from.close(ctx))
}

// over notes that the consumer has ended.
func (c *Consumer) over(err error) {
	c.queue.mu.Lock()
	delete(c.queue.consumers, c)
	c.queue.mu.Unlock()
	c.skipped.close()
	c.end.Set(failed("consume", c.queue.path, err))
}

// ended waits for the consumer's end.
func (c *Consumer) ended(ctx context.Context) error {
	select {
	case <-c.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reports are errors for whoever cares to receive them.
type reports struct {
	c chan error

	mu     sync.Mutex
	closed bool
}

const mostReports = 16

func newReports() *reports { return &reports{c: make(chan error, mostReports)} }

// add reports an error, in the place of the oldest one if there are too many.
func (r *reports) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.closed {
		select {
		case r.c <- err:
			return
		default:
		}
		select {
		case oldest := <-r.c:
			_ = oldest // makes room
		default: // somebody has received it meanwhile
		}
	}
}

func (r *reports) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		close(r.c)
	}
}

var errUnreceived = errors.New("items that nobody had received are lost")
