package queue

import (
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/session"
)

var (
	// ErrEmpty: there is no unclaimed item.
	ErrEmpty error = layout.ErrEmpty

	// ErrFull: the queue has as many items as WithCapacity allows, including those that are being
	// processed. ZooKeeper has confirmed that for one instant.
	ErrFull error = layout.ErrFull

	// ErrDuplicate: an item with this id waits, is delayed or being processed. Nothing was put.
	ErrDuplicate error = layout.ErrDuplicate

	// ErrCapacity: the queue has another capacity, or it had items before a capacity was set.
	ErrCapacity error = layout.ErrCapacity

	// ErrOverdue is the cause of a loss: the item was not acknowledged or returned within its
	// visibility timeout.
	ErrOverdue = errors.New("queue: not settled in time")
)

// lost turns the end of an item into the error of a late Ack or Nack: for these, an earlier release
// is a loss too.
func lost(err error) error {
	if errors.Is(err, session.ErrLost) {
		return err
	}
	return fmt.Errorf("%w: %w", session.ErrLost, err)
}

// errDone ends a call that has succeeded.
var errDone = errors.New("done")
