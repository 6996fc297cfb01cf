package twopc

import (
	"errors"

	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
	"github.com/troupe-go/troupe/session"
)

var (
	// ErrDecided: the transaction is decided. It refuses a vote after the decision, and an abort of
	// a committed transaction. It is also the Err of a [Tx] that has been decided.
	ErrDecided = protocol.ErrDecided

	// ErrUndecided refuses an acknowledgement before the decision.
	ErrUndecided = protocol.ErrUndecided

	// ErrVoted refuses a vote that differs from the one that this site has cast, perhaps before a
	// restart. A vote is a promise.
	ErrVoted = protocol.ErrVoted

	// ErrInUse refuses to begin a transaction with the id of one that is not finished: some site
	// has not acknowledged it.
	ErrInUse = protocol.ErrInUse

	// ErrBusy refuses to begin a transaction with a site that has too many transactions, finished
	// or not, that it has not acknowledged: see [WithInboxLimit]. Nothing was done; try again
	// later.
	ErrBusy = protocol.ErrBusy

	// ErrFinished refuses to begin a transaction with the id of one that all sites have
	// acknowledged and whose coordinator's application has not: see [Tx.Ack]. Waiting does not
	// help. Acknowledge it; if the process that had it has died, [Coordinator.Recover] returns it.
	ErrFinished = protocol.ErrFinished

	// ErrGone: the transaction's znodes were gone before this side learned its outcome. They were
	// deleted by hand or swept ([WithRetention]): because nobody acknowledged it for too long or,
	// if several coordinators had it, because this one was away for too long. The decision can't be
	// known here, and nothing may be concluded. From Begin: it can't be known whether the
	// transaction had begun, and it may have been committed.
	ErrGone = protocol.ErrGone

	// ErrTaken ends a [Site]: another site with its name is alive.
	ErrTaken = protocol.ErrTaken
)

// failed wraps an error with the operation and the path, once.
func failed(op, path string, err error) error {
	var oe *session.OpError
	if err == nil || errors.As(err, &oe) && oe.Path == path {
		return err
	}
	return &session.OpError{Op: op, Path: path, Err: err}
}
