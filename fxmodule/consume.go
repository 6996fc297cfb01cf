package fxmodule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/telemetry"
)

// Consume runs n workers, at most 10,000, that call fn with the items of the named [Queue], one
// each at a time, while the application runs. fn is a func(context.Context, *queue.Item) error, or
// has further parameters, which fx provides, as for [RunLeader]. The consumer claims n items at
// first, and more if fn is faster than they can be fetched (queue.WithWorkers); with a smaller
// queue.WithPrefetch in opts fewer workers are busy. fn's context ends with the claim on the item.
// When the application stops, no new items are claimed, and fn goes on with those in hand, within
// fx's stop timeout; then its context ends too. An item whose fn then returns an error goes back
// without an attempt (queue.Item.Return), and so does one whose fn returns context.Canceled, or an
// error that wraps it, after the stop has begun.
//
// If fn returns nil, the item is acknowledged. If fn returns an error or panics, the item goes back
// to the queue, with that error (queue.WithError), and is delivered again after the pause of
// queue.WithBackoff; a panic is logged with its stack. With queue.WithAutoAck nothing is
// acknowledged or returned: an error is logged, and the item is gone. Items that the consumer skips
// are logged: see queue.Consumer.Errors. If the consumer ends by itself, the application is shut
// down with exit code 1.
//
// Each item is a span "process <name>" in the graph's trace.TracerProvider, with a link to the span
// in which it was put.
func Consume(name string, n int, fn any, opts ...queue.ConsumeOption) fx.Option {
	title := fmt.Sprintf("fxmodule.Consume(%q)", name)
	if n < 1 || n > 10_000 {
		return fx.Error(fmt.Errorf("%s: n: %d is not between 1 and %d", title, n, 10_000))
	}
	if err := noNil(title, opts); err != nil {
		return fx.Error(err)
	}
	return running("Consume", name, fn, func(q *queue.Queue, call func(context.Context, *queue.Item) error, in worker) error {
		c := &crew{in: in, name: name, size: n, fn: call, queue: q, opts: append([]queue.ConsumeOption{queue.WithWorkers(n)}, opts...), log: logger(in.Log), tracer: cmp.Or[trace.TracerProvider](in.Tracers, noop.NewTracerProvider()).Tracer("github.com/troupe-go/troupe/fxmodule")}
		c.cut, c.cutOff = context.WithCancel(context.Background()) // it lives as long as the application
		in.work(c.begin, c.run)
		return nil
	})
}

// crew are the workers of one Consume.
type crew struct {
	in     worker
	name   string // the queue's
	size   int    // how many workers
	fn     func(ctx context.Context, i *queue.Item) error
	queue  *queue.Queue
	opts   []queue.ConsumeOption
	log    *slog.Logger
	tracer trace.Tracer

	consumer *queue.Consumer // set by begin
	ended    sync.Once       // of several workers one reports the end of the consumer
	cut      context.Context // ends when a stop waits no longer for the work in hand, whose contexts end then
	cutOff   context.CancelFunc
}

func (c *crew) begin() (err error) {
	c.consumer, err = c.queue.Consume(c.opts...)
	return err
}

// run works until the application stops: then it claims no new items, which others would wait for,
// waits for the work in hand, and closes the consumer.
func (c *crew) run(stopping context.Context) error {
	var workers sync.WaitGroup
	for range c.size {
		workers.Go(func() { c.work(stopping.Done()) }) // owned by the crew, which waits for it
	}
	go c.report() // ends with the consumer
	<-stopping.Done()
	c.consumer.Drain()
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }() // ends with the workers, which closing the consumer ends at the latest
	c.wait(done, workDone)
	c.cutOff()
	c.wait(done, cutDone)
	ctx, cancel := c.in.Budget.within(context.Background(), consumersDone)
	defer cancel()
	err := releaseIfConnected(ctx, c.in.Session, c.consumer.Close)
	if err == nil {
		err = unlessClosed(c.consumer.Close(ctx)) // waits only for the items that WithAutoAck puts back: the end of the session does not
	}
	<-done
	if err != nil {
		return fmt.Errorf("%s: %w", c.in.title, err)
	}
	return nil
}

// wait waits for the workers, for a fraction of the stop timeout. What they settle may wait for a
// connection, until the session is not trusted.
func (c *crew) wait(done <-chan struct{}, fraction float64) {
	ctx, cancel := c.in.Budget.within(context.Background(), fraction)
	defer cancel()
	states := c.in.Session.ObserveStatus(ctx)
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case is, open := <-states: // closed with ctx
			waiting = open && is.State <= session.Suspended
		}
	}
}

// report logs the items that the consumer skips.
func (c *crew) report() {
	for err := range c.consumer.Errors() {
		c.log.Warn("skipped by a consumer", "queue", c.name, "error", err)
	}
}

// work takes one item after the other until the application stops, or the consumer ends.
func (c *crew) work(stopping <-chan struct{}) {
	for {
		select {
		case <-stopping:
			return
		default:
		}
		select {
		case <-stopping:
			return
		case i, open := <-c.consumer.Items():
			if !open {
				c.ended.Do(c.consumerEnded)
				return
			}
			c.handle(i)
		}
	}
}

// consumerEnded shuts the application down, unless the session has ended: its life does it then.
func (c *crew) consumerEnded() {
	<-c.consumer.Done()
	if err := c.consumer.Err(); !errors.Is(err, session.ErrClosed) {
		shutDown(c.in.Shutdowner, c.log, c.in.title+" has failed", err)
	}
}

func (c *crew) handle(i *queue.Item) {
	ctx, end := context.WithCancelCause(i.Context())
	defer end(nil)
	defer context.AfterFunc(c.cut, func() { end(errCut) })()
	ctx, span := c.tracer.Start(ctx, "process "+c.name, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithLinks(telemetry.Link(i)), trace.WithAttributes(
		attribute.String("messaging.system", "troupe"), attribute.String("messaging.operation.name", "process"), attribute.String("messaging.operation.type", "process"),
		attribute.String("messaging.destination.name", c.name), attribute.String("messaging.message.id", i.ID()), attribute.Int("troupe.attempt", i.Attempt())))
	defer span.End()
	err := recovered(func() error { return c.fn(ctx, i) })
	outcome := c.settle(ctx, i, err)
	if p, panicked := errors.AsType[*panicError](err); panicked {
		outcome = "panicked"
		c.log.Error("a job panicked", "queue", c.name, "item", i.ID(), "attempt", i.Attempt(), "panic", p.value, "stack", string(p.stack))
	}
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
		c.log.Warn("an item was not processed", "queue", c.name, "item", i.ID(), "attempt", i.Attempt(), "outcome", outcome, "error", err.Error())
	}
}

// errCut is the cause of the end of a function's context at a stop.
var errCut = fmt.Errorf("the application stops: %w", session.ErrClosed)

// stops tells whether a function has returned an error because the application stops.
func (c *crew) stops(err error) bool {
	if _, panicked := errors.AsType[*panicError](err); panicked {
		return false
	}
	return c.cut.Err() != nil || c.in.Budget.stopping.Err() != nil && errors.Is(err, context.Canceled)
}

// settle acknowledges an item, or puts it back if the function failed; an item without a Hold, of
// WithAutoAck, is gone. The outcome is for the log. The item's own context does not bound the call,
// since it ends with the item; the consumer's end does.
func (c *crew) settle(ctx context.Context, i *queue.Item, failure error) string {
	switch {
	case i.Hold == nil && failure != nil:
		return "failed"
	case i.Hold == nil:
		return "done"
	}
	ctx, outcome := context.WithoutCancel(ctx), "returned"
	var err error
	switch {
	case failure == nil:
		outcome, err = "acknowledged", i.Ack(ctx)
	case c.stops(failure):
		err = i.Return(ctx)
	default:
		err = recovered(func() error { return i.Nack(ctx, queue.WithError(failure)) })
		if _, panicked := errors.AsType[*panicError](err); panicked {
			c.log.Error("the pause of an item is a second, since queue.WithBackoff's function failed", "queue", c.name, "item", i.ID(), "error", err)
			err = i.Nack(ctx, queue.WithPause(time.Second), queue.WithError(failure))
		}
	}
	if err != nil {
		c.log.Warn("an item was lost before it was settled; it is delivered again", "queue", c.name, "item", i.ID(), "error", err)
		return "lost"
	}
	return outcome
}
