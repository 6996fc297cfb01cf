package queue

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

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
	consumer *Consumer // nil: it takes for calls
	stream   *notify.Stream[*Item]

	incarnation uint64           // of the machines, counted over all actors
	items       map[uint64]*Item // neither acknowledged, returned nor lost
	waiting     int              // calls of Take
	refusal     *notify.End      // of those
	offered     int              // with WithAutoAck: how many are acknowledged, and not received yet
	unreceived  []*Item          // of those, when the Consumer is being closed
}

func newIntake(q *Queue, kind string) *intake {
	in := &intake{worker: worker{queue: q, kind: "queue " + kind}, items: make(map[uint64]*Item), refusal: notify.NewEnd()}
	in.work = in
	in.stream = notify.NewTracedStream(2*mostPrefetch, in.received) // the machine never has so many
	return in
}

// serve starts to take for a consumer.
func (in *intake) serve(c *Consumer, o consumeOptions, by recipe.Asked) error {
	in.consumer, in.opts, in.by, in.over = c, o, by, c.over
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.start()
}

// take waits for one item, which an actor takes: a new one if there is none.
func (in *intake) take(ctx context.Context, by recipe.Asked) (*Item, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	refusal, err := in.wait()
	if err != nil {
		return nil, err
	}
	var i *Item
	select {
	case i = <-in.stream.C(): // nil: it was closed
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-refusal.Done():
		err = translated(refusal.Err())
	}
	if i == nil && err == nil {
		err = session.ErrClosed
	}
	in.leave(i)
	if i != nil {
		i.warn(by)
	}
	return i, err
}

// wait has one more item claimed. It returns what ends the wait for it.
func (in *intake) wait() (refusal *notify.End, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closing {
		return nil, session.ErrClosed
	}
	in.waiting++
	if !in.tell(in.demand()) {
		if err = in.start(); err != nil {
			in.waiting--
		}
	}
	return in.refusal, err
}

// leave ends a wait, and gives back what nobody waits for. The demand is told before the item that
// was received: the other way round another would be claimed.
func (in *intake) leave(received *Item) {
	in.mu.Lock()
	in.waiting--
	in.tell(in.demand())
	if received != nil {
		in.tell(consume.Wish{No: received.from.No, What: consume.Received})
	}
	in.mu.Unlock()
	in.trim()
}

// trim gives back what no call of Take waits for.
func (in *intake) trim() {
	in.mu.Lock()
	keep := in.waiting
	in.mu.Unlock()
	for _, i := range in.stream.Withdraw(func(*Item) bool { keep--; return keep < 0 }) {
		in.giveBack(i)
	}
}

func (in *intake) machine(bool) machine.Machine {
	q := in.queue
	cfg := consume.Config{
		Root: q.root(), GUID: string(znode.NewGUID()), First: in.incarnation << 40, Seed: rand.Uint64(),
		Takes: in.consumer == nil, Prefetch: in.demand().Wanted,
		Visibility: milliseconds(q.cfg.visibility), Attempts: q.cfg.maxAttempts, Dead: layout.Root(q.cfg.dead),
	}
	if in.consumer == nil {
		cfg.Idle = milliseconds(idle)
	}
	return consume.New(cfg)
}

// renew begins the next incarnation. What the former one had delivered is lost, and the outcome of
// a pending Ack or Nack is unknown.
func (in *intake) renew(cause error) bool {
	in.incarnation++
	for _, i := range in.items {
		i.answer.Set(fmt.Errorf("%w: %w: %w", session.ErrLost, session.ErrUnknownOutcome, cause))
	}
	clear(in.items)
	return in.waiting > 0
}

// demand is how many items are wanted. With mu.
func (in *intake) demand() consume.Demand {
	prefetch := cmp.Or(in.opts.prefetch, in.opts.workers)
	switch {
	case in.opts.auto:
		return consume.Demand{Wanted: prefetch - in.offered - len(in.items)}
	case in.consumer != nil:
		return consume.Demand{Wanted: prefetch}
	}
	return consume.Demand{Wanted: min(in.waiting, mostPrefetch)}
}

func (in *intake) standing() []machine.Event { return []machine.Event{in.demand()} }

func (in *intake) refuse(err error) {
	in.refusal.Set(err)
	in.refusal = notify.NewEnd()
}

// close ends the intake, and gives back what was not received.
func (in *intake) close(ctx context.Context) error {
	in.mu.Lock()
	in.closing = true
	in.refuse(session.ErrClosed)
	in.mu.Unlock()
	for _, i := range in.stream.Close() {
		in.giveBack(i)
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
