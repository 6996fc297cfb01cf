package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/take"
	"github.com/troupe-go/troupe/session"
)

// intake takes items for a Consumer, or for the callers of Take.
type intake struct {
	queue    *Queue
	kind     string
	auto     bool
	prefetch int                   // of a Consumer
	stream   *notify.Stream[*Item] // of a Consumer
	end      *notify.End           // of a Consumer

	mu          sync.Mutex
	host        *recipe.Host     // nil: none
	incarnation uint64           // of the machines, counted over all actors
	fresh       bool             // the current one is not created yet, but was sent events already
	seen        int64            // how many items the current incarnation has delivered
	items       map[uint64]*Item // neither acknowledged, returned nor lost
	calls       []*taking        // waiting calls of Take
	closing     bool
}

// taking is a waiting call of Take.
type taking struct {
	item *Item
	done *notify.End
}

func newIntake(q *Queue, kind string) *intake {
	return &intake{queue: q, kind: kind, items: make(map[uint64]*Item)}
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

// machine creates the machine of an incarnation. Items that the previous one had delivered are lost
// or, with WithAutoAck, keep belonging to this process.
func (in *intake) machine() machine.Machine {
	q := in.queue
	in.mu.Lock()
	if !in.fresh {
		in.incarnation++
		in.seen = 0
	}
	in.fresh = false
	n := in.incarnation
	var doubtful []*Item
	for no, i := range in.items {
		if i.Hold != nil && i.Err() != nil {
			delete(in.items, no)
			doubtful = append(doubtful, i)
		}
	}
	in.mu.Unlock()
	for _, i := range doubtful { // the outcome of a pending Ack or Nack is unknown
		i.answer.Set(fmt.Errorf("%w: %w: %w", session.ErrLost, session.ErrUnknownOutcome, session.ErrRestarted))
	}
	cfg := take.Config{
		Site: q.site, GUID: string(znode.NewGUID()), Producer: string(znode.NewGUID()), Incarnation: n, First: n << 40,
		AutoAck: in.auto, MaxAttempts: q.cfg.maxAttempts, Visibility: milliseconds(q.cfg.visibility), Shards: q.cfg.shards,
	}
	cfg.Dead = q.dead()
	cfg.Home = home(cfg.GUID)
	cfg.Shard = home(cfg.GUID) % q.cfg.shards
	if q.cfg.layout != Troupe {
		cfg.Parse, cfg.Taken = q.cfg.layout.parse, q.cfg.layout.taken(q.path)
	}
	if in.stream == nil {
		cfg.Idle = milliseconds(idle)
	}
	return take.New(cfg)
}

// want is the number of further items to take. With mu.
func (in *intake) want() int64 {
	switch {
	case in.closing:
		return 0
	case in.stream == nil:
		return int64(len(in.calls))
	default:
		return int64(max(in.prefetch-len(in.items), 0))
	}
}

// demand is want as a message. With mu.
func (in *intake) demand() take.Demand {
	return take.Demand{Incarnation: in.incarnation, Total: in.seen + in.want()}
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

// tellDemand tells the machine how many items are wanted. A Consumer that has enough items to
// deliver waits until a batch is worthwhile: each costs a transaction, for which consumers compete.
func (in *intake) tellDemand() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.host != nil && (in.stream == nil || in.stream.Len() <= in.prefetch/4 || in.want() >= int64(in.prefetch/2)) {
		in.host.Tell(in.demand())
	}
}

// perform carries out the machine's effects.
func (in *intake) perform(e machine.Effect) {
	switch e := e.(type) {
	case take.Deliver:
		in.deliver(e)
	case take.Settled:
		in.settled(e)
	case take.Drop:
		in.dropped(e)
	case take.Lost:
		in.mu.Lock()
		delete(in.items, e.No)
		in.mu.Unlock()
		in.tellDemand()
	}
}

// deliver creates an Item for what was taken, and hands it over.
func (in *intake) deliver(e take.Deliver) {
	in.mu.Lock()
	i := in.items[e.No]
	if i == nil {
		i = &Item{
			in: in, no: e.No, id: e.ID, data: e.Data, priority: e.Priority, attempt: e.Attempt, answer: notify.NewEnd(), forGood: notify.NewEnd(),
		}
		in.items[e.No] = i
		in.seen++
	}
	h := in.host
	in.mu.Unlock()
	if e.Claim != "" {
		hold, err := h.Hold(e.Epoch, e.Claim, e.Token, func(cause error) { in.lost(i, cause) })
		if err != nil {
			h.Tell(take.Unheld{No: e.No, Turn: e.Turn})
			return
		}
		i.Hold = hold
	}
	if !in.hand(i) { // no receiver is left
		in.giveBack(i)
	}
}

// hand gives an item to the stream or to a waiting call.
func (in *intake) hand(i *Item) bool {
	if in.stream != nil {
		return in.send(i)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.calls) == 0 || i.Hold != nil && i.Err() != nil {
		return false
	}
	c := in.calls[0]
	in.calls = in.calls[1:]
	c.item = i
	c.done.Set(errDone)
	if i.Hold == nil {
		delete(in.items, i.no)
		in.host.Tell(take.Settle{No: i.no, How: take.Ack})
	}
	return true
}

// send offers an item to the receivers, unless it is lost.
func (in *intake) send(i *Item) bool {
	if i.Err() != nil {
		return true
	}
	sent := in.stream.Send(i)
	if i.Err() != nil { // before it could be withdrawn
		in.stream.Withdraw(func(j *Item) bool { return j == i })
	}
	return sent
}

// giveBack returns an item that was not received.
func (in *intake) giveBack(i *Item) {
	i.mu.Lock()
	first := i.how == 0
	if first {
		i.how = take.Return
	}
	i.mu.Unlock()
	if first {
		in.letGo(i)
		in.tell(take.Settle{No: i.no, How: take.Return})
	}
}

// letGo ends the possession of an item that is returned.
func (in *intake) letGo(i *Item) {
	in.mu.Lock()
	h := in.host
	in.mu.Unlock()
	if h != nil && i.Hold != nil {
		h.End(i.Hold, session.ErrReleased)
	}
}

// received notes that an item was received.
func (in *intake) received(i *Item) {
	if i.Hold == nil { // otherwise it counts until it is acknowledged or returned
		in.mu.Lock()
		delete(in.items, i.no)
		if in.host != nil {
			in.host.Tell(take.Settle{No: i.no, How: take.Ack})
		}
		in.mu.Unlock()
	}
	in.tellDemand()
}

// lost handles the end of a possession.
func (in *intake) lost(i *Item, cause error) {
	if errors.Is(cause, session.ErrReleased) {
		return
	}
	i.mu.Lock()
	settling := i.how != 0
	i.mu.Unlock()
	if settling {
		return // the answer to it is in flight
	}
	in.mu.Lock()
	delete(in.items, i.no)
	if in.host != nil {
		in.host.Tell(take.Over{No: i.no})
		in.host.Tell(in.demand())
	}
	in.mu.Unlock()
	if in.stream != nil {
		in.stream.Withdraw(func(j *Item) bool { return j == i })
	}
}

// dropped handles that the machine has given an item up as lost, and returns it. An Ack or Nack
// that crosses with this was not seen by the machine before, so it comes too late.
func (in *intake) dropped(e take.Drop) {
	in.mu.Lock()
	i, h := in.items[e.No], in.host
	delete(in.items, e.No)
	in.mu.Unlock()
	if i == nil {
		return
	}
	cause := translated(e.Cause)
	if i.Hold != nil && h != nil {
		h.End(i.Hold, cause)
	}
	i.answer.Set(lost(cause))
	in.tellDemand()
}

// settled handles the outcome of an Ack or Nack.
func (in *intake) settled(e take.Settled) {
	in.mu.Lock()
	i, h := in.items[e.No], in.host
	delete(in.items, e.No)
	in.mu.Unlock()
	if i == nil {
		return
	}
	err := errDone
	if e.Err != nil {
		err = translated(e.Err)
	}
	if i.Hold != nil {
		cause := session.ErrReleased
		if errors.Is(err, session.ErrLost) {
			cause = session.ErrDeleted
		}
		h.End(i.Hold, cause)
	}
	i.answer.Set(err)
	in.tellDemand()
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
	case in.stream != nil || len(in.calls) == 0:
	case errors.Is(err, session.ErrClosed) && in.start() == nil: // it had just ended for lack of work
		in.host.Tell(in.demand())
	default:
		for _, c := range in.calls {
			c.done.Set(err)
		}
		in.calls = nil
	}
	in.mu.Unlock()
	for _, i := range left {
		i.answer.Set(fmt.Errorf("%w: %w: %w", session.ErrLost, session.ErrUnknownOutcome, err))
	}
	if in.stream != nil {
		in.stream.Close()
		in.end.Set(translated(err))
	}
}

// take waits for one item.
func (in *intake) take(ctx context.Context) (*Item, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c := &taking{done: notify.NewEnd()}
	in.mu.Lock()
	in.calls = append(in.calls, c)
	if in.host == nil || !in.host.Tell(in.demand()) {
		if err := in.start(); err != nil {
			in.calls = remove(in.calls, c)
			in.mu.Unlock()
			return nil, err
		}
		in.host.Tell(in.demand())
	}
	in.mu.Unlock()
	select {
	case <-c.done.Done():
	case <-ctx.Done():
		in.mu.Lock()
		if c.done.Err() == nil {
			in.calls = remove(in.calls, c)
			c.done.Set(context.Cause(ctx))
			if in.host != nil {
				in.host.Tell(in.demand())
			}
		}
		in.mu.Unlock()
	}
	if err := c.done.Err(); !errors.Is(err, errDone) {
		return nil, err
	}
	return c.item, nil
}

func remove(calls []*taking, c *taking) []*taking {
	return slices.DeleteFunc(calls, func(d *taking) bool { return d == c })
}
