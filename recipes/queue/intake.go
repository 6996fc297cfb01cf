package queue

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

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
	queue    *Queue
	kind     string
	opts     consumeOptions
	by       recipe.Asked
	consumer *Consumer // nil: it takes for calls
	stream   *notify.Stream[*Item]
	draining atomic.Bool // see Consumer.Drain

	mu          sync.Mutex
	host        *recipe.Host // nil: there was no call yet
	closing     bool
	incarnation uint64           // of the machines, counted over all actors
	items       map[uint64]*Item // neither acknowledged, returned nor lost; with WithAutoAck: not received
	waiting     int              // calls of Take
	refusal     *notify.End      // ends the calls of Take that wait
}

// wait is a call of Take.
type wait struct {
	recipe.Wait
	refusal *notify.End // ends it, if nothing else does before
}

func newIntake(q *Queue, kind string) *intake {
	in := &intake{queue: q, kind: "queue " + kind, items: make(map[uint64]*Item), refusal: new(notify.End)}
	in.stream = notify.NewTracedStream(2*mostPrefetch, in.received) // the machine never has so many
	return in
}

// serve starts to take for a consumer.
func (in *intake) serve(c *Consumer, o consumeOptions, by recipe.Asked) error {
	in.consumer, in.opts, in.by = c, o, by
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.start()
}

// start starts the actor, which lives until the intake is closed, or its session. With mu.
func (in *intake) start() (err error) {
	in.host, err = recipe.New(recipe.Config{
		ACL:     in.queue.cfg.acl,
		Session: in.queue.session, Kind: in.kind, Recipe: "queue", State: consuming, Path: in.queue.path, Perform: in.perform, Machine: in.machine, Ended: in.ended,
	})
	return err
}

func (in *intake) ended(err error) {
	in.mu.Lock()
	in.host = nil
	in.forget(err)
	in.refuse(err)
	in.mu.Unlock()
	if in.consumer != nil {
		in.consumer.ended(err)
	}
}

// tell sends the actor an event. With mu.
func (in *intake) tell(ev machine.Event) {
	if in.host != nil {
		in.host.Tell(ev)
	}
}

// notify is tell without mu.
func (in *intake) notify(ev machine.Event) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.tell(ev)
}

// take waits for one item from the actor, and starts an actor if there is none.
func (in *intake) take(ctx context.Context, by recipe.Asked) (*Item, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w, err := in.wait(by)
	if err != nil {
		return nil, err
	}
	var i *Item
	select {
	case i = <-in.stream.C(): // nil: the stream was closed
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-w.refusal.Done():
		err = w.refusal.Err()
	}
	if i == nil && err == nil {
		err = session.ErrClosed
	}
	in.leave(w, i)
	if i != nil {
		i.warn(by)
	}
	return i, err
}

// wait has one more item claimed.
func (in *intake) wait(by recipe.Asked) (*wait, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closing {
		return nil, session.ErrClosed
	}
	if in.host == nil {
		if err := in.start(); err != nil {
			return nil, err
		}
	}
	w := &wait{refusal: in.refusal}
	in.host.Await(&w.Wait, by)
	in.waiting++
	in.tell(in.demand())
	return w, nil
}

// leave ends a wait, and gives back items that no call waits for. The machine gets the smaller
// demand first: with an item less to count, and the demand as before, it would claim another one.
func (in *intake) leave(w *wait, received *Item) {
	in.mu.Lock()
	w.End()
	in.waiting--
	in.tell(in.demand())
	if received != nil {
		in.tell(consume.Command{No: received.from.No, Kind: consume.Received})
	}
	in.mu.Unlock()
	in.trim()
}

// trim gives back items that no call of Take waits for. WithAutoAck has no claims to give back.
func (in *intake) trim() {
	in.mu.Lock()
	keep := in.waiting
	in.mu.Unlock()
	for _, i := range in.stream.Withdraw(func(i *Item) bool { keep--; return keep < 0 && i.Hold != nil }) {
		in.giveBack(i)
	}
}

// machine makes a new incarnation. The items that the former one had delivered are lost.
func (in *intake) machine() machine.Machine {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.forget(session.ErrRestarted)
	in.incarnation++
	q, prefetch := in.queue, cmp.Or(in.opts.prefetch, in.opts.workers)
	return consume.New(consume.Config{
		Root: q.root(), Dead: layout.Root(q.cfg.dead), Attempts: q.cfg.maxAttempts, Seed: rand.Uint64(),
		GUID: string(znode.NewGUID()), Identity: fmt.Appendf(nil, "%sprefetch %d\n", znode.Identity(recipe.Identity(q.session)).Note(), prefetch),
		Takes: in.consumer == nil, Prefetch: in.demand().Wanted, First: in.incarnation << itemBits,
	})
}

// forget gives up the items, whose possessions have ended. The outcome of a pending Ack or Nack is
// unknown. With mu.
func (in *intake) forget(cause error) {
	for _, i := range in.items {
		i.tellSettled(cause)
		i.answer.Set(fmt.Errorf("%w: %w: %w", session.ErrLost, session.ErrUnknownOutcome, cause))
	}
	clear(in.items)
}

const itemBits = 40 // of an item's number; those above are the incarnation, so that a machine ignores commands about a former one's items

// demand is how many items are wanted. With mu.
func (in *intake) demand() consume.Demand {
	d := consume.Demand{First: in.incarnation << itemBits, Wanted: cmp.Or(in.opts.prefetch, in.opts.workers)}
	switch {
	case in.draining.Load():
		d.Wanted = 0
	case in.opts.auto:
		d.Wanted -= len(in.items)
	case in.consumer == nil:
		d.Wanted = min(in.waiting, mostPrefetch)
	}
	return d
}

// refuse ends the waiting calls. With mu.
func (in *intake) refuse(err error) {
	in.refusal.Set(err)
	in.refusal = new(notify.End)
}

// close ends the intake, and gives back items that were not received. Those that WithAutoAck has
// taken are put back at the end of the consumer.
func (in *intake) close(ctx context.Context) error {
	in.mu.Lock()
	in.closing = true
	in.refuse(session.ErrClosed)
	h := in.host
	in.mu.Unlock()
	if !in.opts.auto {
		for _, i := range in.stream.Close() {
			in.giveBack(i)
		}
	}
	if h == nil {
		return nil
	}
	return h.Close(ctx)
}
