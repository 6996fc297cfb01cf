package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipes/queue/internal/take"
	"github.com/troupe-go/troupe/session"
)

// Item is a possession: an item that this process has, until it settles it with [Item.Ack] or
// [Item.Nack], or loses it. Done then closes, and Err tells which: session.ErrReleased, or
// session.ErrLost with its cause, among them ErrOverdue. After a loss the item is, or will be,
// somebody else's, with Attempt one higher.
//
// The token is the transaction that claimed the item. Commit writes in ZooKeeper on condition that
// the claim stands.
//
// An item taken with WithAutoAck is this process's for good: its Hold is nil, it is never lost,
// Done never closes, and there is nothing to settle.
type Item struct {
	*session.Hold

	in       *intake
	no       uint64
	id       string
	data     []byte
	priority int
	attempt  int
	forGood  *notify.End // of an item taken with WithAutoAck: it has not ended

	mu     sync.Mutex
	how    take.How // it is being settled, or was
	answer *notify.End
}

// ID is the one that Put returned. In another library's layout it is the znode's name.
func (i *Item) ID() string { return i.id }

// Data are what was put. They are the receiver's.
func (i *Item) Data() []byte { return i.data }

// Priority is the one given with WithPriority.
func (i *Item) Priority() int { return i.priority }

// Attempt is 1 for an item that is delivered for the first time, and one higher for each claim
// before, of consumers who died too. It is kept in ZooKeeper.
func (i *Item) Attempt() int { return i.attempt }

// Valid tells whether the item is this process's at this instant: see [session.Hold.Valid].
func (i *Item) Valid() bool { return i.Hold == nil || i.Hold.Valid() }

// Done closes when the item is settled or lost. Err is set by then.
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

// Context ends with the possession; its cause is Err.
func (i *Item) Context() context.Context {
	if i.Hold == nil {
		return context.Background() // what was taken for good does not end
	}
	return i.Hold.Context()
}

// Token is the transaction that claimed the item; 0 with WithAutoAck.
func (i *Item) Token() int64 {
	if i.Hold == nil {
		return 0
	}
	return i.Hold.Token()
}

// Path is that of the claim; "" with WithAutoAck.
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
		return i.in.queue.session.Multi(ctx, ops...)
	}
	return i.Hold.Commit(ctx, ops...)
}

// Ack deletes the item: it is dealt with. Several acknowledgements that come together go in one
// transaction. session.ErrLost: the claim was lost before, nothing was changed, and the item is
// somebody else's; with session.ErrUnknownOutcome beside it, the session ended while the answer was
// under way, and the item is gone, by this Ack or by the next consumer's. If ctx ends first its
// cause is returned, and the Ack goes on; a ctx that descends from the item's own Context counts as
// one that ends after the session's timeout. It may be called again, and says the same.
func (i *Item) Ack(ctx context.Context) error {
	return failed("ack", i.in.queue.path, i.settle(ctx, take.Ack))
}

// Nack gives the item back, and Done closes: it keeps its id, its priority and its place in line,
// and is delivered again with Attempt one higher; after WithMaxAttempts it goes to the dead
// letters. Errors are as for Ack.
func (i *Item) Nack(ctx context.Context) error {
	return failed("nack", i.in.queue.path, i.settle(ctx, take.Nack))
}

// Extend sets when the item is lost if it is not settled: d from now on. It needs WithVisibility.
func (i *Item) Extend(ctx context.Context, d time.Duration) error {
	return failed("extend", i.in.queue.path, i.extend(ctx, d))
}

func (i *Item) extend(ctx context.Context, d time.Duration) error {
	switch {
	case d < time.Millisecond:
		return fmt.Errorf("d: %v is less than a millisecond", d)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case i.Hold == nil:
		return nil
	case i.in.queue.cfg.visibility == 0:
		return fmt.Errorf("%w: the queue was made without WithVisibility", session.ErrUnsupported)
	case i.Err() != nil:
		return lost(i.Err())
	}
	i.in.tell(take.Extend{No: i.no, After: milliseconds(d)})
	return nil
}

func (i *Item) settle(ctx context.Context, how take.How) error {
	if i.Hold == nil {
		return nil
	}
	ctx, cancel := i.beyond(ctx)
	defer cancel()
	i.mu.Lock()
	switch {
	case i.how == 0:
		if err := i.Err(); err != nil {
			i.mu.Unlock()
			if confirmsLost && how == take.Ack {
				return nil
			}
			return lost(err)
		}
		i.how = how
		i.mu.Unlock()
		if how != take.Ack { // whoever gives something up has it no more before somebody else can
			i.in.letGo(i)
		}
		i.in.tell(take.Settle{No: i.no, How: how})
	case i.how != how:
		i.mu.Unlock()
		return fmt.Errorf("%w: the item is being settled otherwise", session.ErrReleased)
	default:
		i.mu.Unlock()
	}
	select {
	case <-i.answer.Done():
		if err := i.answer.Err(); !errors.Is(err, errDone) {
			return err
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// beyond is the context to wait in for the answer to a settlement. The item's own ends with it, and
// would end the wait: then the session's timeout bounds it.
func (i *Item) beyond(ctx context.Context) (context.Context, context.CancelFunc) {
	if !slices.Contains(slices.Collect(session.HoldsFrom(ctx)), i.Hold) {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), i.in.queue.session.Status().Timeout)
}

// lost makes the end of an item the error of its settlement: to one who comes too late, a release
// is a loss as well.
func lost(err error) error {
	if errors.Is(err, session.ErrLost) {
		return err
	}
	return fmt.Errorf("%w: %w", session.ErrLost, err)
}
