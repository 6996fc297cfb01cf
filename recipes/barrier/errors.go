package barrier

import (
	"errors"

	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
	"github.com/troupe-go/troupe/session"
)

var (
	// ErrBroken: the round was broken, for all who stood in it. The next one is there already.
	ErrBroken = double.ErrBroken

	// ErrDiffering is why a round was broken (it comes with [ErrBroken]): its parties differ in how
	// many they are to be.
	ErrDiffering = double.ErrDiffering

	// ErrCrowd: there are more parties than agreed. With [ErrBroken] more of them stood in an open
	// round, and nobody entered. Without, all parties of the round are inside, and the one that
	// gets this error is one too many. A process that was started anew before ZooKeeper has noticed
	// the end of the one before is one too many as well, unless it has the same id: see [WithID].
	ErrCrowd = double.ErrCrowd

	// ErrReplaced: another party came later under the same id, and is in the round in this one's
	// place: see [WithID].
	ErrReplaced = double.ErrReplaced
)

// failed wraps an error with the operation and the path. Errors of the session come wrapped
// already.
func failed(op, path string, err error) error {
	var oe *session.OpError
	if err == nil || errors.As(err, &oe) && oe.Path == path {
		return err
	}
	return &session.OpError{Op: op, Path: path, Err: err}
}
