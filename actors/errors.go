package actors

import "errors"

var (
	// ErrStopped: the actor or the scope is stopped or about to be. A Receiver's Stopping gets it
	// when no incarnation follows.
	ErrStopped = errors.New("actors: stopped")

	// ErrGivenUp: the actor panicked more often than its restarts allow. It comes with the value of
	// the last panic.
	ErrGivenUp = errors.New("actors: given up after too many panics")

	// ErrRestarting is what a Receiver's Stopping gets when its incarnation panicked and another
	// one follows.
	ErrRestarting = errors.New("actors: restarting after a panic")
)
