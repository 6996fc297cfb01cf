package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/session"
)

// Take waits for the next unclaimed item and claims it: lower priorities first, then in the order
// in which they were put. The item belongs to this process until it is acknowledged, returned or
// lost; ctx bounds only the wait. After Close the error is session.ErrClosed.
func (q *Queue) Take(ctx context.Context) (*Item, error) {
	if err := q.open(); err != nil {
		return nil, failed("take", q.path, err)
	}
	i, err := q.takes.take(ctx)
	return i, failed("take", q.path, err)
}

// take waits for one item.
func (in *intake) take(ctx context.Context) (*Item, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c := &taking{done: notify.NewEnd()}
	if err := in.call(c); err != nil {
		return nil, err
	}
	select {
	case <-c.done.Done():
	case <-ctx.Done():
		in.mu.Lock()
		if c.done.Err() == nil {
			in.calls = slices.DeleteFunc(in.calls, func(d *taking) bool { return d == c })
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

// call has an item taken for a call, by a new actor if there is none.
func (in *intake) call(c *taking) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closing {
		return session.ErrClosed
	}
	in.calls = append(in.calls, c)
	if in.host != nil && in.host.Tell(in.demand()) {
		return nil
	}
	if err := in.start(); err != nil {
		in.calls = slices.DeleteFunc(in.calls, func(d *taking) bool { return d == c })
		return err
	}
	in.host.Tell(in.demand())
	return nil
}

// perform carries out the machine's effects.
func (in *intake) perform(e machine.Effect) {
	switch e := e.(type) {
	case consume.Deliver:
		in.deliver(e)
	case consume.Settled:
		in.settled(e.No, e.Err)
	case consume.Dropped:
		in.dropped(e)
	case consume.Skipped:
		in.skipped(e)
	}
}

// skipped reports what is in the way. If nothing can be claimed as long as it is, calls of Take
// return it.
func (in *intake) skipped(e consume.Skipped) {
	err := failed("consume", e.Path, translated(e.Err))
	if in.consumer != nil {
		in.consumer.skipped.add(err)
		return
	}
	if !e.Blocks {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.refuse(err)
	in.host.Tell(in.demand())
}

// deliver creates an Item for what was claimed, and hands it over.
func (in *intake) deliver(e consume.Deliver) {
	i := &Item{
		queue: in.queue, by: in, no: e.No, id: e.ID, record: e.Record, priority: e.Priority, attempt: e.Attempt,
		answer: notify.NewEnd(), forGood: notify.NewEnd(),
	}
	in.mu.Lock()
	h := in.host
	if e.Path != "" {
		in.items[e.No] = i
	}
	in.mu.Unlock()
	if e.Path != "" {
		hold, err := h.Hold(e.Epoch, e.Path, e.Token, func(cause error) { in.lost(i, cause) })
		if err != nil {
			in.mu.Lock()
			delete(in.items, e.No)
			in.mu.Unlock()
			h.Tell(consume.Unheld{No: e.No})
			return
		}
		i.Hold = hold
	}
	in.mu.Lock()
	in.seen++
	in.mu.Unlock()
	if in.hand(i) {
		return
	}
	in.giveBack(i) // no receiver is left, or it is over already
	in.mu.Lock()
	defer in.mu.Unlock()
	h.Tell(in.demand())
}

// hand gives an item to the stream or to a waiting call.
func (in *intake) hand(i *Item) bool {
	if in.stream != nil {
		return in.send(i)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.calls) == 0 || i.Err() != nil {
		return false
	}
	c := in.calls[0]
	in.calls = in.calls[1:]
	c.item = i
	c.done.Set(errDone)
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

// received notes that an item of a stream was received.
func (in *intake) received(i *Item) { in.tell(consume.Received{No: i.no}) }

// giveBack returns an item that was not received.
func (in *intake) giveBack(i *Item) {
	if i.Hold == nil {
		in.mu.Lock()
		in.unreceived = append(in.unreceived, i)
		in.mu.Unlock()
		return
	}
	if _, first, _ := i.begin(consume.Return); first {
		in.letGo(i, session.ErrReleased)
		in.tell(consume.Settle{No: i.no, How: consume.Return})
	}
}

// letGo ends the possession of an item.
func (in *intake) letGo(i *Item, cause error) {
	in.mu.Lock()
	h := in.host
	in.mu.Unlock()
	if h != nil {
		h.End(i.Hold, cause)
	}
}

// settle has the machine settle an item, and waits for its answer.
func (in *intake) settle(ctx context.Context, i *Item, how consume.How, after time.Duration) error {
	answer, first, err := i.begin(how)
	switch {
	case err != nil && confirmsLost && how == consume.Ack:
		return nil
	case err != nil:
		return err
	case first && how != consume.Ack: // the possession ends before another consumer can have the item
		in.letGo(i, session.ErrReleased)
	}
	if first {
		in.tell(consume.Settle{No: i.no, How: how, After: milliseconds(after)})
	}
	select {
	case <-answer.Done():
		if err := answer.Err(); !errors.Is(err, errDone) {
			return err
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// remove forgets an item. nil: it was forgotten before.
func (in *intake) remove(no uint64) *Item {
	in.mu.Lock()
	defer in.mu.Unlock()
	i := in.items[no]
	delete(in.items, no)
	return i
}

// lost handles the end of a possession.
func (in *intake) lost(i *Item, cause error) {
	if errors.Is(cause, session.ErrReleased) {
		return
	}
	i.mu.Lock()
	settling := i.how != 0
	i.mu.Unlock()
	if settling || in.remove(i.no) == nil {
		return // the answer to it is in flight, or it was dropped
	}
	in.tell(consume.Over{No: i.no})
	if in.stream != nil {
		in.stream.Withdraw(func(j *Item) bool { return j == i })
	}
}

// dropped handles that the machine has given an item up as lost. An Ack or Nack that crosses with
// this was not seen by the machine before, so it comes too late.
func (in *intake) dropped(e consume.Dropped) {
	if i := in.remove(e.No); i != nil {
		cause := translated(e.Cause)
		if errors.Is(cause, session.ErrLost) { // somebody has deleted the consumer's znodes
			cause = session.ErrDeleted
		}
		in.letGo(i, cause)
		i.answer.Set(lost(cause))
	}
}

// settled handles the outcome of an Ack or Nack.
func (in *intake) settled(no uint64, err error) {
	if err = translated(err); errors.Is(err, session.ErrDeleted) {
		err = lost(err)
	}
	if err != nil && !errors.Is(err, session.ErrLost) {
		in.refused(no, err)
		return
	}
	i := in.remove(no)
	switch {
	case i == nil:
	case err == nil:
		in.letGo(i, session.ErrReleased)
		i.answer.Set(errDone)
	default:
		in.letGo(i, session.ErrDeleted)
		i.answer.Set(err)
	}
}

// refused handles that ZooKeeper has refused an Ack or Nack. What was to go back has ended as a
// possession, and goes back as soon as it is allowed to.
func (in *intake) refused(no uint64, err error) {
	in.mu.Lock()
	i := in.items[no]
	in.mu.Unlock()
	if i == nil {
		return
	}
	i.refused(err)
	if i.Err() != nil && in.remove(no) != nil {
		in.tell(consume.Over{No: no})
	}
}

// lost turns the end of an item into the error of a late Ack or Nack: for these, an earlier release
// is a loss too.
func lost(err error) error {
	if errors.Is(err, session.ErrLost) {
		return err
	}
	return fmt.Errorf("%w: %w", session.ErrLost, err)
}
