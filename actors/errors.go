package actors

import "errors"

var (
	// ErrStopped says that the actor or the scope is stopped or about to be. It is also what a
	// Receiver's Stopping gets when no incarnation follows.
	ErrStopped = errors.New("actors: stopped")

	// ErrGivenUp says that the actor panicked more often than its restarts allow. It comes with
	// what the last panic said.
	ErrGivenUp = errors.New("actors: given up after too many panics")

	// ErrRestarting is what a Receiver's Stopping gets when its incarnation panicked and another is
	// to follow.
	ErrRestarting = errors.New("actors: restarting after a panic")
)
