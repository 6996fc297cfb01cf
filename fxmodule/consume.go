package fxmodule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// Consume runs n workers, at most 10,000, that call fn with the items of the named [Queue], one
// each at a time, while the application runs. At most n items are claimed at a time, unless opts
// has another queue.WithPrefetch; with a smaller prefetch, fewer workers are busy. fn's context
// ends with the claim on the item. It does not end when the application stops: then no new items
// are taken, and those in hand are finished, within fx's stop timeout; after that their contexts
// end too. If fn returns nil, the item is acknowledged; an error returns it to the queue, to be
// delivered again. Under queue.WithAutoAck nothing is acknowledged or returned: an error is logged
// and counted, and the item is gone. If the consumer ends by itself, the application is shut down
// with exit code 1.
//
// A panic in fn is logged with its stack. Its item is returned like one that has failed, but after
// a pause, during which it stays claimed: one second after the first attempt, doubled after each
// further one, up to a minute. So an item that makes fn panic every time does not keep the workers
// busy, and goes to the dead letters under queue.WithMaxAttempts. Until it is returned it counts as
// one of the n.
//
// Each item is a span "troupe.consume" in the graph's trace.TracerProvider. The
// metric.MeterProvider gets troupe.queue.items, by outcome: acknowledged, returned, lost (the claim
// was lost before the item was acknowledged or returned; another consumer gets the item), panicked,
// and under queue.WithAutoAck done and failed; and troupe.queue.duration, the seconds that fn took.
func Consume(name string, n int, fn func(ctx context.Context, i *queue.Item) error, opts ...queue.ConsumeOption) fx.Option {
	if err := usable("Consume", name); err != nil {
		return fx.Error(err)
	}
	if n < 1 || n > mostWorkers {
		return fx.Error(fmt.Errorf("fxmodule.Consume(%q): n: %d is not between 1 and %d", name, n, mostWorkers))
	}
	if fn == nil {
		return fx.Error(fmt.Errorf("fxmodule.Consume(%q): fn is nil", name))
	}
	invoke := func(q *queue.Queue, lc fx.Lifecycle, sd fx.Shutdowner, log *slog.Logger, mp metric.MeterProvider, tp trace.TracerProvider) error {
		c := &crew{name: name, size: n, fn: fn, queue: q, opts: append([]queue.ConsumeOption{queue.WithPrefetch(n)}, opts...), shutdowner: sd, log: logger(log), tracer: tracer(tp)}
		lc.Append(fx.Hook{OnStart: c.start, OnStop: c.stop})
		return c.instruments(mp)
	}
	return fx.Invoke(fx.Annotate(invoke, fx.ParamTags(tag(name), ``, ``, `optional:"true"`, `optional:"true"`, `optional:"true"`)))
}

// mostWorkers is the maximum number of workers, and of claimed items.
const mostWorkers = 10_000

// After a panic an item is given back after a pause.
const (
	firstPause = time.Second
	mostPause  = time.Minute
)

// crew are the workers of one Consume.
type crew struct {
	name       string
	size       int
	fn         func(ctx context.Context, i *queue.Item) error
	queue      *queue.Queue
	opts       []queue.ConsumeOption
	shutdowner fx.Shutdowner
	log        *slog.Logger
	tracer     trace.Tracer
	items      metric.Int64Counter
	duration   metric.Float64Histogram

	consumer *queue.Consumer
	stopping chan struct{}
	workers  sync.WaitGroup
	ended    sync.Once // one worker reports it
}

func (c *crew) instruments(mp metric.MeterProvider) error {
	m := meter(mp)
	var errs [2]error
	c.items, errs[0] = m.Int64Counter("troupe.queue.items", metric.WithDescription("items worked on"))
	c.duration, errs[1] = m.Float64Histogram("troupe.queue.duration", metric.WithUnit("s"), metric.WithDescription("how long an item took"))
	return errors.Join(errs[:]...)
}

func (c *crew) start(context.Context) (err error) {
	if c.consumer, err = c.queue.Consume(c.opts...); err != nil {
		return fmt.Errorf("fxmodule.Consume(%q): %w", c.name, err)
	}
	c.stopping = make(chan struct{})
	for range c.size {
		c.workers.Go(c.work) // owned by the crew; stop waits for it
	}
	return nil
}

// work takes one item after the other until the application stops, or the consumer ends.
func (c *crew) work() {
	for {
		select {
		case <-c.stopping:
			return
		default:
		}
		select {
		case <-c.stopping:
			return
		case i, open := <-c.consumer.Items():
			if !open {
				c.ended.Do(c.over)
				return
			}
			c.handle(i)
		}
	}
}

// over handles the end of the consumer. The end of the session is handled elsewhere.
func (c *crew) over() {
	<-c.consumer.Done()
	if err := c.consumer.Err(); !errors.Is(err, session.ErrClosed) {
		shutDown(c.shutdowner, c.log, "Consume "+c.name+" has failed", err)
	}
}

func (c *crew) handle(i *queue.Item) {
	of := attribute.String("queue", c.name)
	ctx, span := c.tracer.Start(i.Context(), "troupe.consume", trace.WithAttributes(of, attribute.String("item", i.ID()), attribute.Int("attempt", i.Attempt())))
	defer span.End()
	begun := time.Now()
	err := recovered(func() error { return c.fn(ctx, i) })
	c.duration.Record(context.WithoutCancel(ctx), time.Since(begun).Seconds(), metric.WithAttributes(of))
	var outcome string
	var p *panicError
	if panicked := errors.As(err, &p); panicked {
		outcome = "panicked"
		c.panicked(ctx, i, p)
	} else {
		outcome = c.settle(ctx, i, err)
	}
	c.items.Add(context.WithoutCancel(ctx), 1, metric.WithAttributes(of, attribute.String("outcome", outcome)))
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
		c.log.Warn("an item was not processed", "queue", c.name, "item", i.ID(), "attempt", i.Attempt(), "outcome", outcome, "error", err)
	}
}

// panicked returns an item after a pause, during which the worker goes on with others. The item
// counts as claimed, so there are never more than n.
func (c *crew) panicked(ctx context.Context, i *queue.Item, p *panicError) {
	log := c.log.With("queue", c.name, "item", i.ID(), "attempt", i.Attempt(), "panic", p.value, "stack", string(p.stack))
	if i.Hold == nil {
		log.Error("a job panicked; its item is lost")
		return
	}
	pause := min(firstPause<<min(max(i.Attempt()-1, 0), 10), mostPause)
	log.Error("a job panicked", "pause", pause)
	c.workers.Go(func() { // owned by the crew, whose stop ends the pause and waits for it
		t := time.NewTimer(pause)
		defer t.Stop()
		select {
		case <-t.C:
		case <-i.Done(): // it is lost: with its session, or its visibility is over
		case <-c.stopping:
		}
		c.settle(ctx, i, p)
	})
}

// settle acknowledges or returns an item. The item's own context does not bound that, since it ends
// with the item; the consumer's end does.
func (c *crew) settle(ctx context.Context, i *queue.Item, failure error) string {
	switch {
	case i.Hold == nil && failure != nil:
		return "failed"
	case i.Hold == nil:
		return "done"
	}
	tell, outcome := i.Ack, "acknowledged"
	if failure != nil {
		tell, outcome = i.Nack, "returned"
	}
	if err := tell(context.WithoutCancel(ctx)); err != nil {
		c.log.Warn("an item was lost before it was settled; it is delivered again", "queue", c.name, "item", i.ID(), "error", err)
		return "lost"
	}
	return outcome
}

// stop takes no new items, waits for the work in hand, and closes the consumer, which returns the
// rest.
func (c *crew) stop(ctx context.Context) error {
	close(c.stopping)
	done := make(chan struct{})
	go func() { // ends with the workers, which closing the consumer ends at the latest
		c.workers.Wait()
		close(done)
	}()
	waiting, cancel := most(ctx, 0.7)
	defer cancel()
	select {
	case <-done:
	case <-waiting.Done():
	}
	ctx, cancel = most(ctx, 0.7)
	defer cancel()
	err := stopped(c.consumer.Close(ctx)) // which ends the contexts of items that are still worked on
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return errors.Join(err, fmt.Errorf("fxmodule.Consume(%q): items in progress were not finished: %w", c.name, context.Cause(ctx)))
	}
}
