package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/session"
)

// Item is a possession: an item that this process has claimed, until it acknowledges it with
// [Item.Ack], returns it with [Item.Nack], or loses it. Done then closes, and Err tells which:
// session.ErrReleased, or session.ErrLost with its cause, which may be ErrOverdue. A lost item is
// delivered again, with Attempt increased by one.
//
// The token is the zxid of the transaction that claimed the item. Commit is a transaction that
// ZooKeeper carries out only while the claim exists.
//
// An item taken with WithAutoAck belongs to this process for good: its Hold is nil, it is never
// lost, Done never closes, and there is nothing to acknowledge.
type Item struct {
	*session.Hold

	queue    *Queue
	by       *intake // which has handed it out
	no       uint64
	id       string
	record   layout.Record
	priority int
	attempt  int
	forGood  *notify.End // of an item taken with WithAutoAck: it never ends

	mu     sync.Mutex
	how    consume.How // Ack, Nack or Return, in progress or done
	answer *notify.End
}

// ID is the id that Put returned.
func (i *Item) ID() string { return i.id }

// Data are the data that were put. The receiver may keep and change them.
func (i *Item) Data() []byte { return i.record.Body }

// Header is the value of a header set by WithHeader; "" if there is none.
func (i *Item) Header(key string) string { return i.record.Header(key) }

// Priority is the priority set by WithPriority.
func (i *Item) Priority() int { return i.priority }

// Attempt is 1 at the first delivery, and increases by one with each earlier one that was received,
// also by consumers that died. It is kept in ZooKeeper.
func (i *Item) Attempt() int { return i.attempt }

// Valid tells whether the item belongs to this process at this instant: see [session.Hold.Valid].
func (i *Item) Valid() bool { return i.Hold == nil || i.Hold.Valid() }

// Done closes when the item is acknowledged, returned or lost. Err is set before.
func (i *Item) Done() <-chan struct{} {
	if i.Hold == nil {
		return i.forGood.Done()
	}
	return i.Hold.Done()
}

// Err is nil exactly while Done is open.
func (i *Item) Err() error {
	if i.Hold == nil {
		return nil
	}
	return i.Hold.Err()
}

// Context is cancelled when the possession ends; its cause is Err.
func (i *Item) Context() context.Context {
	if i.Hold == nil {
		return context.Background() // an item taken with WithAutoAck does not end
	}
	return i.Hold.Context()
}

// Token is the zxid of the transaction that claimed the item; 0 with WithAutoAck.
func (i *Item) Token() int64 {
	if i.Hold == nil {
		return 0
	}
	return i.Hold.Token()
}

// Path is the path of the znode that guards the claim, which is its consumer's; "" with
// WithAutoAck.
func (i *Item) Path() string {
	if i.Hold == nil {
		return ""
	}
	return i.Hold.Path()
}

// Commit carries out all operations, or none of them, on condition that the claim stands: see
// [session.Hold.Commit]. With WithAutoAck there is no claim.
func (i *Item) Commit(ctx context.Context, ops ...session.Op) ([]session.Result, error) {
	if i.Hold == nil {
		return i.queue.session.Multi(ctx, ops...)
	}
	return i.Hold.Commit(ctx, ops...)
}

// Ack acknowledges the item and deletes it. Concurrent acknowledgements share a transaction. With
// session.ErrLost, the claim was lost before and nothing was changed; the item is delivered to
// another consumer. If session.ErrUnknownOutcome comes with it, the session ended while the reply
// was outstanding, and the item was deleted by this Ack or is the next consumer's. If ctx ends
// first its cause is returned, and the Ack goes on. A ctx that descends from the item's own Context
// is replaced by one that lasts for the session's timeout. Further calls return the same. Any other
// error is ZooKeeper's refusal: the item stays claimed, and Ack can be called again.
func (i *Item) Ack(ctx context.Context) error {
	return failed("ack", i.queue.path, i.settle(ctx, consume.Ack, 0))
}

// Nack returns the item to the queue, and Done closes. The item keeps its id, its priority and its
// position, and is delivered again with Attempt increased by one, after the pause that WithBackoff
// sets, or [After]; after WithMaxAttempts it goes to the dead letters. Errors are those of Ack;
// after a refusal the consumer tries by itself to return the item.
func (i *Item) Nack(ctx context.Context, opts ...NackOption) error {
	o, err := nackOptionsOf(opts)
	if err != nil {
		return failed("nack", i.queue.path, err)
	}
	if cfg := &i.queue.cfg; !o.given && i.attempt < cfg.maxAttempts {
		o.after = max(cfg.backoff(i.attempt), 0)
	}
	return failed("nack", i.queue.path, i.settle(ctx, consume.Nack, o.after))
}

// Extend sets the visibility timeout anew: the item is lost if it is not acknowledged or returned
// within d from now. It needs WithVisibility.
func (i *Item) Extend(ctx context.Context, d time.Duration) error {
	return failed("extend", i.queue.path, i.extend(ctx, d))
}

func (i *Item) extend(ctx context.Context, d time.Duration) error {
	switch {
	case d < time.Millisecond:
		return fmt.Errorf("d: %v is less than a millisecond", d)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case i.Hold == nil:
		return nil
	case i.queue.cfg.visibility == 0:
		return fmt.Errorf("%w: the queue was created without WithVisibility", session.ErrUnsupported)
	case i.Err() != nil:
		return lost(i.Err())
	}
	i.by.tell(consume.Extend{No: i.no, After: milliseconds(d)})
	return nil
}

func (i *Item) settle(ctx context.Context, how consume.How, after time.Duration) error {
	if i.Hold == nil {
		return nil
	}
	ctx, cancel := i.beyond(ctx)
	defer cancel()
	return i.by.settle(ctx, i, how, after)
}

// begin decides how an item is settled: by whoever comes first. first tells whether that was this
// call. The error says why the item is not settled this way.
func (i *Item) begin(how consume.How) (answer *notify.End, first bool, err error) {
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
	i.how, i.answer = 0, notify.NewEnd()
}

// beyond is the context in which Ack and Nack wait for the reply. The item's own context ends with
// the item, and would end the wait: in that case the session's timeout bounds it.
func (i *Item) beyond(ctx context.Context) (context.Context, context.CancelFunc) {
	if !slices.Contains(slices.Collect(session.HoldsFrom(ctx)), i.Hold) {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), i.queue.session.Status().Timeout)
}
