package election

import (
	"errors"
)

var (
	// ErrNoLeader: there is no candidate at this moment.
	ErrNoLeader = errors.New("election: no leader")

	// ErrDeadlock refuses a wait that could never end: the context descends from the context of a
	// term on the same path.
	ErrDeadlock = errors.New("election: already led by the caller's own context")
)
