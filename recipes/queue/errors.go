package queue

import (
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/look"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
	"github.com/troupe-go/troupe/session"
)

var (
	// ErrEmpty: there is no unclaimed item.
	ErrEmpty = errors.New("queue: empty")

	// ErrFull: the queue has as many items as WithCapacity allows, including those that are being
	// processed. ZooKeeper has confirmed that for one instant.
	ErrFull = errors.New("queue: full")

	// ErrDuplicate: an item with this id exists, waiting or being processed. Nothing was put.
	ErrDuplicate = errors.New("queue: an item with this id is in the queue")

	// ErrCapacity: the queue has another capacity, or it had items before a capacity was set.
	ErrCapacity = errors.New("queue: the queue has another capacity")

	// ErrOverdue is the cause of a loss: the item was not acknowledged or returned within its
	// visibility timeout.
	ErrOverdue = errors.New("queue: not settled in time")
)

// translated is a machine's error as users see it.
func translated(err error) error {
	for _, e := range []struct{ err, is error }{
		{produce.ErrFull, ErrFull},
		{produce.ErrDuplicate, ErrDuplicate},
		{produce.ErrCapacity, ErrCapacity},
		{look.ErrEmpty, ErrEmpty},
		{consume.ErrUnknown, fmt.Errorf("%w: %w", session.ErrLost, session.ErrUnknownOutcome)},
		{consume.ErrOverdue, ErrOverdue},
		{consume.ErrGone, session.ErrDeleted},
		{consume.ErrClosing, session.ErrClosed},
		{consume.ErrLost, session.ErrLost},
	} {
		if errors.Is(err, e.err) {
			return e.is
		}
	}
	return err
}

// failed wraps an error with the operation and the path. Errors of the session are wrapped already.
func failed(op, path string, err error) error {
	var oe *session.OpError
	if err == nil || errors.As(err, &oe) && oe.Path == path {
		return err
	}
	return &session.OpError{Op: op, Path: path, Err: err}
}

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

// succeeded is what came of a call.
func succeeded(done *notify.End) error {
	if err := done.Err(); !errors.Is(err, errDone) {
		return translated(err)
	}
	return nil
}
