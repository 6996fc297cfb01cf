package naming

import (
	"errors"
)

var (
	// ErrNotBound: the name is not bound.
	ErrNotBound = errors.New("naming: not bound")
	// ErrDuplicate: the name is bound already, and the option was [IfFree].
	ErrDuplicate = errors.New("naming: already bound")
)
