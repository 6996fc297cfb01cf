package queue

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/session"
)

// intake takes items for a Consumer, or for the callers of Take.
type intake struct {
	worker
	opts     consumeOptions
	by       recipe.Asked
	consumer *Consumer             // nil: it takes for calls
	stream   *notify.Stream[*Item] // of a Consumer

	incarnation uint64           // of the machines, counted over all actors
	seen        uint64           // how many items the current incarnation has delivered
	items       map[uint64]*Item // neither acknowledged, returned nor lost
	calls       []*taking        // waiting calls of Take
	unreceived  []*Item          // with WithAutoAck, of a Consumer that is being closed
}

// taking is a waiting call of Take.
type taking struct {
	by   recipe.Asked
	item *Item
	done *notify.End
}

func newIntake(q *Queue, kind string) *intake {
	in := &intake{worker: worker{queue: q, kind: "queue " + kind}, items: make(map[uint64]*Item)}
	in.work = in
	return in
}

// serve starts to take for a consumer.
func (in *intake) serve(c *Consumer, o consumeOptions, by recipe.Asked) error {
	in.consumer, in.opts, in.by, in.over = c, o, by, c.over
	in.stream = notify.NewTracedStream(2*mostPrefetch, in.received) // the machine keeps it much shorter
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.start()
}

// take waits for one item, which an actor takes: a new one if there is none.
func (in *intake) take(ctx context.Context, by recipe.Asked) (*Item, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c := &taking{by: by, done: notify.NewEnd()}
	in.mu.Lock()
	if in.closing {
		c.done.Set(session.ErrClosed)
	} else if in.calls = append(in.calls, c); !in.tell(in.demand()) {
		if err := in.start(); err != nil {
			in.refuse(err)
		}
	}
	in.mu.Unlock()
	select {
	case <-c.done.Done():
	case <-ctx.Done():
		in.mu.Lock()
		if c.done.Set(context.Cause(ctx)) {
			in.calls = slices.DeleteFunc(in.calls, func(d *taking) bool { return d == c })
			in.tell(in.demand())
		}
		in.mu.Unlock()
	}
	return c.item, succeeded(c.done)
}

func (in *intake) machine(bool) machine.Machine {
	q := in.queue
	cfg := consume.Config{
		Root: q.root(), GUID: string(znode.NewGUID()), Incarnation: in.incarnation, First: in.incarnation << 40, Seed: rand.Uint64(),
		Auto: in.opts.auto, Stream: in.stream != nil, Prefetch: cmp.Or(in.opts.prefetch, in.opts.workers),
		Visibility: milliseconds(q.cfg.visibility), Attempts: q.cfg.maxAttempts, Dead: layout.Root(q.cfg.dead),
	}
	if in.stream == nil {
		cfg.Idle = milliseconds(idle)
	}
	return consume.New(cfg)
}

// renew begins the next incarnation. What the former one had delivered is lost, and the outcome of
// a pending Ack or Nack is unknown.
func (in *intake) renew(cause error) bool {
	in.incarnation++
	in.seen = 0
	for _, i := range in.items {
		i.answer.Set(fmt.Errorf("%w: %w: %w", session.ErrLost, session.ErrUnknownOutcome, cause))
	}
	clear(in.items)
	return len(in.calls) > 0
}

// demand is how many items the calls want. With mu.
func (in *intake) demand() consume.Demand {
	return consume.Demand{Incarnation: in.incarnation, Total: in.seen + uint64(len(in.calls))}
}

func (in *intake) standing() []machine.Event { return []machine.Event{in.demand()} }

func (in *intake) refuse(err error) {
	for _, c := range in.calls {
		c.done.Set(err)
	}
	in.calls = nil
}

// close ends the intake, and gives back what was not received.
func (in *intake) close(ctx context.Context) error {
	in.mu.Lock()
	in.closing = true
	in.refuse(session.ErrClosed)
	in.mu.Unlock()
	if in.stream != nil {
		for _, i := range in.stream.Close() {
			in.giveBack(i)
		}
	}
	return in.worker.close(ctx)
}

// putBack puts what WithAutoAck had taken and nobody has received.
func (in *intake) putBack(ctx context.Context) error {
	in.mu.Lock()
	items := in.unreceived
	in.unreceived = nil
	in.mu.Unlock()
	return in.queue.putAgain(ctx, items)
}
