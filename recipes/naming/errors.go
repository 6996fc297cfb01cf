package naming

import (
	"errors"

	"github.com/troupe-go/troupe/session"
)

var (
	// ErrNotBound: the name is not bound.
	ErrNotBound = errors.New("naming: not bound")
	// ErrDuplicate: the name is bound already, and the option was [IfFree].
	ErrDuplicate = errors.New("naming: already bound")
)

// failed wraps an error with the operation and the path, once.
func failed(op, path string, err error) error {
	var oe *session.OpError
	if err == nil || errors.As(err, &oe) && oe.Path == path {
		return err
	}
	return &session.OpError{Op: op, Path: path, Err: err}
}
