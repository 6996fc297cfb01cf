package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"

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
	consumer *Consumer             // nil: it takes for calls
	stream   *notify.Stream[*Item] // of a Consumer

	mu          sync.Mutex
	host        *recipe.Host     // nil: none
	incarnation uint64           // of the machines, counted over all actors
	fresh       bool             // the current one is not created yet, but was sent events already
	seen        uint64           // how many items the current incarnation has delivered
	items       map[uint64]*Item // neither acknowledged, returned nor lost
	calls       []*taking        // waiting calls of Take
	closing     bool
	unreceived  []*Item // with WithAutoAck, of a Consumer that is being closed
}

// taking is a waiting call of Take.
type taking struct {
	item *Item
	done *notify.End
}

func newIntake(q *Queue, kind string) *intake {
	return &intake{queue: q, kind: kind, items: make(map[uint64]*Item)}
}

// startIntake starts the intake of a consumer.
func startIntake(c *Consumer, o consumeOptions) (*intake, error) {
	in := newIntake(c.queue, "consumer")
	in.consumer, in.opts = c, o
	in.stream = notify.NewTracedStream(2*mostPrefetch, in.received) // the machine keeps it much shorter
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.start(); err != nil {
		return nil, err
	}
	in.host.Tell(in.demand())
	return in, nil
}

// start starts the actor. With mu.
func (in *intake) start() error {
	in.incarnation++
	in.fresh, in.seen = true, 0
	h, err := recipe.New(recipe.Config{
		Session: in.queue.session, Kind: "queue " + in.kind, Path: in.queue.path,
		Machine: in.machine, Standing: in.standing, Perform: in.perform,
	})
	if err != nil {
		return err
	}
	in.host = h
	go in.follow(h) // ends with the instance, which ends with its session at the latest
	return nil
}

// machine creates the machine of an incarnation. Items that the previous one had delivered are
// lost.
func (in *intake) machine() machine.Machine {
	in.mu.Lock()
	if !in.fresh {
		in.incarnation++
		in.seen = 0
	}
	in.fresh = false
	n := in.incarnation
	var doubtful []*Item
	for no, i := range in.items {
		delete(in.items, no)
		doubtful = append(doubtful, i)
	}
	in.mu.Unlock()
	for _, i := range doubtful { // the outcome of a pending Ack or Nack is unknown
		i.answer.Set(fmt.Errorf("%w: %w: %w", session.ErrLost, session.ErrUnknownOutcome, session.ErrRestarted))
	}
	q := in.queue
	cfg := consume.Config{
		Root: q.root(), GUID: string(znode.NewGUID()), Incarnation: n, First: n << 40,
		Auto: in.opts.auto, Stream: in.stream != nil, Prefetch: in.opts.prefetch, Workers: in.opts.workers,
		Visibility: milliseconds(q.cfg.visibility), Attempts: q.cfg.maxAttempts, Dead: layout.Root(q.cfg.dead), Home: q.home,
	}
	if in.stream == nil {
		cfg.Idle = milliseconds(idle)
	}
	return consume.New(cfg)
}

// demand is how many items the calls want. With mu.
func (in *intake) demand() consume.Demand {
	return consume.Demand{Incarnation: in.incarnation, Total: in.seen + uint64(len(in.calls))}
}

// standing are the events for a new machine.
func (in *intake) standing() []machine.Event {
	in.mu.Lock()
	defer in.mu.Unlock()
	return []machine.Event{in.demand()}
}

func (in *intake) tell(ev machine.Event) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.host != nil {
		in.host.Tell(ev)
	}
}

// follow waits for the end of the actor.
func (in *intake) follow(h *recipe.Host) {
	<-h.Done()
	in.mu.Lock()
	if in.host != h {
		in.mu.Unlock()
		return
	}
	in.host = nil
	err := h.Err()
	var left []*Item
	for _, i := range in.items {
		left = append(left, i)
	}
	clear(in.items)
	switch {
	case len(in.calls) == 0:
	case errors.Is(err, session.ErrClosed) && !in.closing && in.start() == nil: // it had just ended for lack of work
		in.host.Tell(in.demand())
	default:
		in.refuse(err)
	}
	in.mu.Unlock()
	for _, i := range left {
		i.answer.Set(fmt.Errorf("%w: %w: %w", session.ErrLost, session.ErrUnknownOutcome, err))
	}
	if in.stream != nil {
		in.stream.Close()
		in.consumer.over(translated(err))
	}
}

// refuse ends the waiting calls. With mu.
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
	h := in.host
	in.mu.Unlock()
	if in.stream != nil {
		for _, i := range in.stream.Close() {
			in.giveBack(i)
		}
	}
	var err error
	if h != nil {
		err = h.Close(ctx)
	}
	if in.consumer == nil {
		return err
	}
	return errors.Join(err, in.putBack(ctx), in.consumer.ended(ctx))
}

// putBack puts what WithAutoAck had taken and nobody has received.
func (in *intake) putBack(ctx context.Context) error {
	in.mu.Lock()
	items := in.unreceived
	in.unreceived = nil
	in.mu.Unlock()
	if err := in.queue.puts.putAgain(ctx, items); err != nil {
		return fmt.Errorf("%w: %w", errUnreceived, err)
	}
	return nil
}
