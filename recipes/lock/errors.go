package lock

import (
	"errors"

	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/session"
)

var (
	// ErrHeld refuses a TryLock: somebody is ahead in ZooKeeper's order, or another goroutine on
	// the same instance.
	ErrHeld = errors.New("lock: held by another")

	// ErrDeadlock refuses a wait that could never end: the context descends from the context of a
	// grant on the same path.
	ErrDeadlock = errors.New("lock: already held by the caller's own context")

	// ErrUpgrade refuses an attempt to turn a read grant into a write grant: the context of a wait
	// for the write side descends from the context of a grant of the read side. Two readers who did
	// that would wait for each other for ever. Release, and ask for the write side anew.
	ErrUpgrade = errors.New("lock: a read grant cannot be upgraded")

	// ErrLimit is a semaphore's: the limit in ZooKeeper is not the number of permits that an
	// instance was made with, when it first looks; or it has become less than the instance's
	// weight; or what is in its place is no limit.
	ErrLimit = machine.ErrLimit
)

// failed wraps an error with the operation and the path. Errors of the session come wrapped
// already.
func failed(op, path string, err error) error {
	if errors.Is(err, machine.ErrHeld) {
		err = ErrHeld
	}
	var oe *session.OpError
	if err == nil || errors.As(err, &oe) && oe.Path == path {
		return err
	}
	return &session.OpError{Op: op, Path: path, Err: err}
}
