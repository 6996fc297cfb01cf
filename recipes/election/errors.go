package election

import (
	"errors"

	"github.com/troupe-go/troupe/session"
)

var (
	// ErrNoLeader: there is no candidate at this moment.
	ErrNoLeader = errors.New("election: no leader")

	// ErrDeadlock refuses a wait that could never end: the context descends from the context of a
	// term on the same path.
	ErrDeadlock = errors.New("election: already led by the caller's own context")
)

// failed wraps an error with the operation and the path. Errors of the session are wrapped already.
func failed(op, path string, err error) error {
	var oe *session.OpError
	if err == nil || errors.As(err, &oe) && oe.Path == path {
		return err
	}
	return &session.OpError{Op: op, Path: path, Err: err}
}
