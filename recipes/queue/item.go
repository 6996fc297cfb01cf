package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/session"
)

// Item is a possession: an item that this process has claimed, until it acknowledges it with
// [Item.Ack], returns it with [Item.Nack] or [Item.Return], or loses it. Done then closes, and Err
// tells which: session.ErrReleased, or session.ErrLost with its cause, which may be ErrOverdue. A
// lost item is delivered again, with Attempt increased by one.
//
// The token is the zxid of the transaction that claimed the item. Commit is a transaction that
// ZooKeeper carries out only while the claim exists.
//
// An item taken with WithAutoAck belongs to this process for good: its Hold is nil, it is never
// lost, Done never closes, and there is nothing to acknowledge.
type Item struct {
	*session.Hold

	queue   *Queue
	by      *intake // that has handed the item out
	from    consume.Deliver
	tenure  recipe.Tenure
	settled atomic.Bool                  // it is told: see tellSettled
	asked   atomic.Pointer[recipe.Asked] // by whom it was received; nil: it was not
	limit   atomic.Pointer[time.Timer]   // of WithVisibility

	mu     sync.Mutex
	how    consume.Kind // Ack, Nack or Return, in progress or done
	answer *notify.End
}

// ID is the id that Put returned.
func (i *Item) ID() string { return cmp.Or(i.from.Record.ID, i.from.GUID) }

// Data are the data that were put. The receiver may keep and change them.
func (i *Item) Data() []byte { return i.from.Record.Body }

// Header is the value of a header set by WithHeader; "" if there is none.
func (i *Item) Header(key string) string { return i.from.Record.Header(key) }

// Priority is the priority set by WithPriority.
func (i *Item) Priority() int { return i.from.Priority }

// Attempt is 1 at the first delivery, and increases by one with each earlier one that was received
// and not ended by Return, and with each consumer that died after it had claimed the item. It is
// kept in ZooKeeper.
func (i *Item) Attempt() int { return i.from.Attempt }

// Session is the session that took the item.
func (i *Item) Session() *session.Session { return i.queue.session }

// Valid tells whether the item belongs to this process at this instant: see [session.Hold.Valid].
func (i *Item) Valid() bool { return i.Hold == nil || i.Hold.Valid() }

// Done closes when the item is acknowledged, returned or lost. Err is set before.
func (i *Item) Done() <-chan struct{} { return i.Context().Done() }

// Err is nil exactly while Done is open.
func (i *Item) Err() error { return context.Cause(i.Context()) }

// Context is cancelled when the possession ends; its cause is Err.
func (i *Item) Context() context.Context {
	if i.Hold == nil {
		return context.Background() // an item taken with WithAutoAck does not end
	}
	return i.Hold.Context()
}

// Token is the zxid of the transaction that claimed the item; 0 with WithAutoAck.
func (i *Item) Token() int64 { return i.from.Token }

// Path is the path of the claim's znode; "" with WithAutoAck. Another claim on the item has the
// same path, so after a deletion by hand a check of it alone proves nothing: Commit checks more.
func (i *Item) Path() string { return i.from.Path }

// Commit carries out all operations, or none of them, on condition that this claim exists: see
// [session.Hold.Commit]. With WithAutoAck there is no claim.
func (i *Item) Commit(ctx context.Context, ops ...session.Op) ([]session.Result, error) {
	if i.Hold == nil {
		return i.queue.session.Multi(ctx, ops...)
	}
	// Each claim writes the item, so the item's version tells this claim from a later one.
	results, err := i.Hold.Commit(ctx, append([]session.Op{session.CheckOp(i.from.Item, i.from.Version)}, ops...)...)
	switch {
	case len(results) == 0:
		return nil, err
	case results[0].Err != nil && !errors.Is(results[0].Err, session.ErrRolledBack):
		if !i.settling() {
			i.by.letGo(i, session.ErrDeleted)
		}
		return nil, recipe.Failed(i.queue.session, "commit", i.Path(), lost(session.ErrDeleted))
	}
	return results[1:], err
}

// Ack acknowledges the item and deletes it. Concurrent acknowledgements share a transaction. If ctx
// ends first its cause is returned, and the Ack goes on. A ctx that descends from the item's own
// Context is replaced by one that lasts for the session's timeout. Further calls return the same.
//
// Errors: session.ErrLost if the claim was lost before: nothing was changed, and the item is
// delivered again. With session.ErrUnknownOutcome too, the session ended before the reply, and the
// item was deleted by this Ack or is delivered again. session.ErrReleased after a Nack or Return.
// Any other error is ZooKeeper's refusal: the item stays claimed, and Ack can be called again.
func (i *Item) Ack(ctx context.Context) error {
	return recipe.Failed(i.queue.session, "ack", i.queue.path, i.settle(ctx, consume.Command{Kind: consume.Ack}))
}

// Nack returns the item to the queue, and Done closes. The item keeps its id and its priority, and
// is delivered again with Attempt increased by one: after the pause of [WithPause], or else of
// WithBackoff, at the end of its priority; without a pause, at its position. After WithMaxAttempts
// it goes to the dead letters. [WithError] records why. Errors are those of Ack; after a refusal
// the consumer tries by itself to return the item.
func (i *Item) Nack(ctx context.Context, opts ...NackOption) error {
	var o nackOptions
	if err := recipe.Apply(&o, opts); err != nil {
		return recipe.Failed(i.queue.session, "nack", i.queue.path, err)
	}
	if cfg := &i.queue.cfg; !o.given && i.Attempt() < cfg.maxAttempts {
		o.after = max(cfg.backoff(i.Attempt()), 0)
	}
	c := consume.Command{Kind: consume.Nack, After: milliseconds(o.after)}
	if o.err != nil {
		c.Failure = i.queue.failure(fmt.Sprint(o.err)) // Sprint survives a panic of Error
	}
	return recipe.Failed(i.queue.session, "nack", i.queue.path, i.settle(ctx, c))
}

// Return gives the item back as if it had never been claimed, and Done closes: it keeps its
// position and its last error, and is delivered again at once, with the same Attempt. It is for
// work that was not begun, or that ends because this process stops; for work that has failed there
// is Nack. Errors are those of Nack.
func (i *Item) Return(ctx context.Context) error {
	return recipe.Failed(i.queue.session, "return", i.queue.path, i.settle(ctx, consume.Command{Kind: consume.Return}))
}

// Extend sets the visibility timeout anew: the item is lost if it is not acknowledged or returned
// within d from now. It needs WithVisibility.
func (i *Item) Extend(ctx context.Context, d time.Duration) (err error) {
	switch {
	case d < time.Millisecond:
		err = fmt.Errorf("d: %v is less than a millisecond", d)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case i.Hold == nil:
	case i.queue.cfg.visibility == 0:
		err = fmt.Errorf("%w: the queue was created without WithVisibility", session.ErrUnsupported)
	case i.Err() != nil:
		err = lost(i.Err())
	default:
		i.expire(d)
	}
	return recipe.Failed(i.queue.session, "extend", i.queue.path, err)
}

// expire has the item be lost if its settlement has not begun within d; 0: no limit.
func (i *Item) expire(d time.Duration) {
	if d > 0 {
		stop(i.limit.Swap(time.AfterFunc(d, func() {
			if !i.settling() {
				i.by.letGo(i, ErrOverdue)
			}
		})))
	}
}

// settling tells whether the item's settlement has begun.
func (i *Item) settling() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.how != 0
}

// settle has the machine settle the item, and waits for its answer.
func (i *Item) settle(ctx context.Context, c consume.Command) error {
	if i.Hold == nil {
		return nil
	}
	if slices.Contains(recipe.HoldsFrom(ctx), i.Hold) { // such a ctx ends with the item, and would end the wait
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), i.queue.session.Status().Timeout)
		defer cancel()
	}
	answer, first, err := i.begin(c.Kind)
	switch {
	case err != nil:
		return err
	case first && c.Kind != consume.Ack: // the possession ends before another consumer can have the item
		i.by.letGo(i, session.ErrReleased)
	}
	if first {
		c.No = i.from.No
		i.by.notify(c)
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

// begin decides how an item is settled: as the first caller says. first tells whether that was this
// call. The error says why the item is not settled this way.
func (i *Item) begin(how consume.Kind) (answer *notify.End, first bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.how == how:
		return i.answer, false, nil
	case i.how != 0:
		return nil, false, fmt.Errorf("%w: the item is already being settled in another way", session.ErrReleased)
	}
	if err := i.Err(); err != nil {
		return nil, false, lost(err)
	}
	i.how = how
	return i.answer, true, nil
}

// refused answers a settlement that ZooKeeper has refused: the item can be settled again.
func (i *Item) refused(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer.Set(err)
	i.how, i.answer = 0, new(notify.End)
}

// warn arranges for a log message if the item, which was received now, is not settled for long.
func (i *Item) warn(by recipe.Asked) {
	i.asked.Store(&by)
	if i.Hold == nil {
		return
	}
	i.tenure.Warn(recipe.Alarm{
		Log: recipe.Logger(i.queue.session).With("item", i.ID(), "attempt", i.Attempt()), Kind: "queue", Path: i.queue.session.Path(i.queue.path), After: i.queue.cfg.unsettled, Asked: by, Held: "an item was received and is not settled",
	})
}

func stop(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}
