package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
	"github.com/troupe-go/troupe/session"
)

// Take waits for the next unclaimed item and claims it: lower priorities first, then in the order
// in which they were put. The item belongs to this process until it is acknowledged, returned or
// lost; ctx bounds only the wait. Errors: ctx's cause; session.ErrClosed after Close.
func (q *Queue) Take(ctx context.Context) (*Item, error) {
	i, err := q.takes.take(ctx, recipe.Asked{At: recipe.Caller()})
	return i, recipe.Failed(q.session, "take", q.path, err)
}

// Consumer takes items from a queue and delivers them on Items. It continues through disconnections
// and expired sessions, and skips what is in its way: see [Consumer.Errors].
//
// To stop in order, leave the loop over Items when a context of yours ends, call Drain, settle what
// is in hand, with [Item.Return] if its work is broken off, and then call Close, by
// session.CloseWithin, since that context has ended.
type Consumer struct {
	queue   *Queue
	from    *intake // where it has its items from
	end     notify.End
	skipped chan error
	back    []*produce.Call // puts of items that WithAutoAck had taken and that were not received, once end is set
}

// Consume starts to take items, and returns at once. After Close, or for a closed session, the
// error is session.ErrClosed.
func (q *Queue) Consume(opts ...ConsumeOption) (*Consumer, error) {
	at := recipe.Caller()
	c, err := q.consume(recipe.Asked{At: at, Lasts: at.ByModule()}, opts)
	return c, recipe.Failed(q.session, "consume", q.path, err)
}

func (q *Queue) consume(by recipe.Asked, opts []ConsumeOption) (*Consumer, error) {
	o := consumeOptions{workers: 1}
	if err := recipe.Apply(&o, opts); err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing || q.session.Err() != nil {
		return nil, session.ErrClosed
	}
	c := &Consumer{queue: q, from: newIntake(q, "consumer"), skipped: make(chan error, 16)}
	if err := c.from.serve(c, o, by); err != nil {
		return nil, err
	}
	q.consumers[c] = struct{}{}
	return c, nil
}

// Items delivers the items, in order; several receivers compete for them. An item that is lost
// before it is received is not delivered. The channel closes when the consumer has ended, and not
// with a context of yours: select on its Done too, instead of a range over Items, to stop.
func (c *Consumer) Items() <-chan *Item { return c.from.stream.C() }

// Drain has the consumer claim nothing more, until Close. What was claimed and not received goes
// back at once, without an attempt; what was received, or WithAutoAck has taken, stays.
func (c *Consumer) Drain() {
	c.from.draining.Store(true)
	c.from.mu.Lock()
	c.from.tell(c.from.demand())
	c.from.mu.Unlock()
	c.from.trim()
}

// Errors reports what the consumer has skipped: an item that it cannot read, one that it cannot
// move to the dead letters, a request that the servers refused. It goes on, and tries it again
// later. The channel holds the last sixteen, drops the oldest for the next, and closes when the
// consumer has ended. It need not be received from.
func (c *Consumer) Errors() <-chan error { return c.skipped }

// report reports an error, in the place of the oldest one if there are too many. For the actor,
// which alone sends.
func (c *Consumer) report(err error) {
	if len(c.skipped) == cap(c.skipped) {
		select {
		case oldest := <-c.skipped:
			_ = oldest // makes room
		default: // the oldest one was received meanwhile
		}
	}
	c.skipped <- err
}

// Done closes when the consumer has ended: by Close, or with its queue or session.
func (c *Consumer) Done() <-chan struct{} { return c.end.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed, after Close or with
// the session, or the cause of the failure.
func (c *Consumer) Err() error { return c.end.Err() }

// Close ends the consumer, and returns when other consumers can have its items. Items that were not
// received return to their positions; under WithAutoAck they are put anew, at the end of their
// priority, but for those put WithEphemeral. Items that were received and neither acknowledged nor
// returned are lost (session.ErrClosed), and have had an attempt. If ctx ends first its cause is
// returned, and the rest is done in the background. It is idempotent.
func (c *Consumer) Close(ctx context.Context) error {
	errs := []error{c.from.close(ctx)}
	<-c.Done() // prompt: its actor has ended, or was stopped when ctx ended
	for _, call := range c.back {
		if err := call.Ended(ctx); err != nil {
			errs = append(errs, fmt.Errorf("to put an item back that nobody has received: %w", err))
		}
	}
	return recipe.Failed(c.queue.session, "close", c.queue.path, errors.Join(errs...))
}

// ended handles the end of the actor. Items that WithAutoAck had taken and that were not received
// are put again, before the queue forgets the consumer and may close its producer.
func (c *Consumer) ended(err error) {
	for _, i := range c.from.stream.Close() {
		if i.Hold == nil && !i.from.Owned { // an Owned item would outlive its producer
			record := layout.Record{About: i.from.Record.About, Body: i.from.Record.Body}
			c.back = append(c.back, c.queue.puts.Begin(produce.Put{Back: true, GUIDs: []string{i.from.GUID}, Items: []layout.Record{record}}))
		}
	}
	c.queue.mu.Lock()
	delete(c.queue.consumers, c)
	c.queue.mu.Unlock()
	close(c.skipped)
	c.end.Set(recipe.Failed(c.queue.session, "consume", c.queue.path, err))
}
