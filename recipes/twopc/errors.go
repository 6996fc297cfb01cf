package twopc

import (
	"errors"

	"github.com/troupe-go/troupe/recipes/twopc/internal/pact"
	"github.com/troupe-go/troupe/session"
)

var (
	// ErrDecided: the outcome stands already. It refuses a vote after the decision and the abort of what is committed; and it is the Err of a [Tx] that
	// has come to its decision.
	ErrDecided = pact.ErrDecided

	// ErrUndecided refuses an acknowledgement before the decision.
	ErrUndecided = pact.ErrUndecided

	// ErrVoted refuses a vote that differs from the one that this site has given, perhaps before a restart. A vote is a promise.
	ErrVoted = pact.ErrVoted

	// ErrInUse refuses to begin a transaction under the id of one that is not finished.
	ErrInUse = pact.ErrInUse

	// ErrGone: the transaction's znodes are gone before this side acknowledged its outcome. Somebody deleted them. How it was decided can't be
	// known here, and nothing may be concluded from it.
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
