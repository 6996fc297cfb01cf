package lock

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/internal/contend"
	"github.com/troupe-go/troupe/session"
)

var (
	// ErrHeld is returned by TryLock: another contender is ahead in ZooKeeper's order, or another
	// goroutine on the same instance.
	ErrHeld = errors.New("lock: held by another")

	// ErrDeadlock refuses a wait that could never end: the context descends from the context of a
	// grant on the same path.
	ErrDeadlock = errors.New("lock: already held by the caller's own context")

	// ErrUpgrade refuses to turn a read grant into a write grant: the context of a wait for the
	// write side descends from the context of a grant of the read side. Two readers that both did
	// that would wait for each other forever. Release the read grant, then acquire the write side.
	ErrUpgrade = errors.New("lock: a read grant cannot be upgraded")

	// ErrLimit is returned by semaphores: the limit in ZooKeeper differs from the number of permits
	// that an instance was created with, when it first reads it; or the limit has become less than
	// the instance's weight; or the path's data are not a limit.
	ErrLimit = contend.ErrLimit
)

// failed wraps an error with the operation and the path. Errors of the session are wrapped already.
func failed(s *session.Session, op, path string, err error) error {
	if errors.Is(err, machine.ErrHeld) {
		err = ErrHeld
	}
	return recipe.Failed(s, op, path, err)
}
