package barrier

import (
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
)

var (
	// ErrBroken: the round was broken, for all its parties. The next round exists already.
	ErrBroken error = double.ErrBroken

	// ErrDiffering is why a round was broken (it comes with [ErrBroken]): its parties disagree
	// about their number.
	ErrDiffering error = double.ErrDiffering

	// ErrCrowd: there are more parties than agreed. With [ErrBroken], too many were waiting in a
	// round, and none entered. Without it, all parties of the round are inside, and the one that
	// gets this error is one too many. This also happens to a process that was restarted before
	// ZooKeeper has noticed the death of its predecessor, unless it has the same id: see [WithID].
	ErrCrowd error = double.ErrCrowd

	// ErrReplaced: another process with the same id came later, and has taken this one's position
	// in the round: see [WithID]. A process that is meant to be replaced ends here. One that no
	// other replaces enters again: its predecessor's arrival was carried out late.
	ErrReplaced error = double.ErrReplaced
)
