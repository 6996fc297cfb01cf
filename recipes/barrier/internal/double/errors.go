package double

import (
	"errors"
	"fmt"
)

// How a claim is refused. The face hands them on.
var (
	ErrBroken    = errors.New("barrier: the round was broken")
	ErrDiffering = errors.New("barrier: the parties differ in how many they are to be")
	ErrCrowd     = errors.New("barrier: more parties than there are to be")
	ErrReplaced  = errors.New("barrier: another party came later under the same id")
)

// broken is the error of a round that was broken.
func broken(v Verdict) error {
	switch {
	case v.Kind != Broken:
		return fmt.Errorf("%w: its data are no barrier's", ErrBroken)
	case v.Why == Differing:
		return fmt.Errorf("%w: %w", ErrBroken, ErrDiffering)
	case v.Why == Crowd:
		return fmt.Errorf("%w: %w", ErrBroken, ErrCrowd)
	}
	return ErrBroken
}
