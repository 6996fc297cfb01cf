package actors

import "errors"

var (
	// ErrStopped: the actor or the scope is stopped, or is being stopped.
	ErrStopped = errors.New("actors: stopped")

	// ErrGivenUp: the actor panicked more often than its restarts allow. It wraps what the last panic said.
	ErrGivenUp = errors.New("actors: given up after too many panics")

	// ErrRestarting is the cause that a Receiver's Stopping gets when its incarnation panicked and another may follow.
	ErrRestarting = errors.New("actors: restarting after a panic")
)
