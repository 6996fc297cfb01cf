package double

import (
	"errors"
	"fmt"
)

// The errors of claims.
var (
	ErrBroken    = errors.New("barrier: the round was broken")
	ErrDiffering = errors.New("barrier: the parties disagree about their number")
	ErrCrowd     = errors.New("barrier: too many parties")
	ErrReplaced  = errors.New("barrier: replaced by a later party with the same id")
)

// broken returns the error for a round that was broken.
func broken(v Verdict) error {
	switch {
	case v.Kind != Broken:
		return fmt.Errorf("%w: foreign data in the znode of the round", ErrBroken)
	case v.Why == Differing:
		return fmt.Errorf("%w: %w", ErrBroken, ErrDiffering)
	case v.Why == Crowd:
		return fmt.Errorf("%w: %w", ErrBroken, ErrCrowd)
	}
	return ErrBroken
}
