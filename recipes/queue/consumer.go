package queue

import (
	"context"
	"fmt"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/session"
)

// ConsumeOption configures a Consumer.
type ConsumeOption func(*consumeOptions) error

type consumeOptions struct {
	prefetch int
	auto     bool
}

const (
	usualPrefetch = 16
	mostPrefetch  = 10_000
)

// WithPrefetch lets a consumer have up to n items that are neither acknowledged nor returned: those
// that a receiver works on, and those that wait to be received. They are claimed together. With
// WithAutoAck, n limits the items that wait to be received. The default is 16.
func WithPrefetch(n int) ConsumeOption {
	return func(o *consumeOptions) error {
		if n < 1 || n > mostPrefetch {
			return fmt.Errorf("WithPrefetch: %d is not between 1 and %d", n, mostPrefetch)
		}
		o.prefetch = n
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
// and expired sessions.
type Consumer struct{ in *intake }

// Consume starts to take items, and returns at once. A layout without claims needs WithAutoAck,
// otherwise the error is session.ErrUnsupported. For a closed session it is session.ErrClosed.
func (q *Queue) Consume(opts ...ConsumeOption) (*Consumer, error) {
	o := consumeOptions{prefetch: usualPrefetch}
	for i, opt := range opts {
		err := fmt.Errorf("opts[%d]: nil", i)
		if opt != nil {
			err = opt(&o)
		}
		if err != nil {
			return nil, failed("consume", q.path, err)
		}
	}
	if !o.auto && !q.cfg.layout.claims() {
		return nil, failed("consume", q.path, fmt.Errorf("%w: this layout has no claims: WithAutoAck", session.ErrUnsupported))
	}
	in := newIntake(q, "consumer")
	in.auto, in.prefetch, in.end = o.auto, o.prefetch, notify.NewEnd()
	in.stream = notify.NewTracedStream(o.prefetch+1, in.received) // an item may be acknowledged before the stream has noticed its receiver
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.start(); err != nil {
		return nil, failed("consume", q.path, err)
	}
	in.host.Tell(in.demand())
	return &Consumer{in}, nil
}

// Items delivers the items, in order; several receivers compete for them. An item that is lost
// before it is received is withdrawn. The channel closes when the consumer has ended.
func (c *Consumer) Items() <-chan *Item { return c.in.stream.C() }

// Done closes when the consumer has ended: by Close, with its session, or because ZooKeeper denies
// it access to the queue.
func (c *Consumer) Done() <-chan struct{} { return c.in.end.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed, after Close or with
// the session, or the cause of the failure.
func (c *Consumer) Err() error { return c.in.end.Err() }

// Close ends the consumer, and returns when other consumers can have its items. Items that were not
// received return to their positions. Items that were received and neither acknowledged nor
// returned are lost (session.ErrClosed). If ctx ends first its cause is returned, and the claims
// are deleted in the background. It is idempotent.
func (c *Consumer) Close(ctx context.Context) error {
	in := c.in
	in.mu.Lock()
	in.closing = true
	h := in.host
	in.mu.Unlock()
	for _, i := range in.stream.Close() {
		in.giveBack(i)
	}
	var err error
	if h != nil {
		err = h.Close(ctx)
	}
	if err == nil {
		select {
		case <-c.Done():
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return failed("close", in.queue.path, err)
}

// Take waits for the next unclaimed item and claims it: lower priorities first, then in the order
// in which they were put. The item belongs to this process until it is acknowledged, returned or
// lost; ctx bounds only the wait. In a layout without claims the item is deleted when it is taken.
func (q *Queue) Take(ctx context.Context) (*Item, error) {
	i, err := q.takes.take(ctx)
	return i, failed("take", q.path, err)
}

// dead is the path of the dead letters.
func (q *Queue) dead() place.Root { return place.Root(q.cfg.dead) }
