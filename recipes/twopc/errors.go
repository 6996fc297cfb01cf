package twopc

import (
	"errors"

	"github.com/troupe-go/troupe/recipes/twopc/internal/pact"
	"github.com/troupe-go/troupe/session"
)

var (
	// ErrDecided: the outcome stands already. It refuses a vote after the decision and the abort of
	// what is committed; and it is the Err of a [Tx] that has come to its decision.
	ErrDecided = pact.ErrDecided

	// ErrUndecided refuses an acknowledgement before the decision.
	ErrUndecided = pact.ErrUndecided

	// ErrVoted refuses a vote that differs from the one that this site has given, perhaps before a
	// restart. A vote is a promise.
	ErrVoted = pact.ErrVoted

	// ErrInUse refuses to begin a transaction under the id of one that is not finished: some site
	// has not acknowledged it.
	ErrInUse = pact.ErrInUse

	// ErrBusy refuses to begin a transaction with a site that has too many already, finished or
	// not, that it has not acknowledged: see [WithInboxLimit]. Nothing was done; try again later.
	ErrBusy = pact.ErrBusy

	// ErrFinished refuses to begin a transaction under the id of one that all sites are through
	// with, and whose outcome its coordinator has not acknowledged: see [Tx.Ack]. Waiting does not
	// help. Acknowledge it; if the process that had it has died, [Coordinator.Recover] returns it.
	ErrFinished = pact.ErrFinished

	// ErrGone: the transaction's znodes are gone before this side learned its outcome. Somebody
	// deleted them, or it was swept ([WithRetention]), since nobody acknowledged it for so long or,
	// where several coordinators had it, since this one was away for so long. How it was decided
	// can't be known here, and nothing may be concluded from it. From Begin: whether it had begun
	// can't be known.
	ErrGone = pact.ErrGone

	// ErrTaken ends a [Site]: another one of its name is alive.
	ErrTaken = pact.ErrTaken
)

// failed wraps an error with the operation and the path, once.
func failed(op, path string, err error) error {
	var oe *session.OpError
	if err == nil || errors.As(err, &oe) && oe.Path == path {
		return err
	}
	return &session.OpError{Op: op, Path: path, Err: err}
}
