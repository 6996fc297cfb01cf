package double

import (
	"fmt"

	"github.com/troupe-go/troupe/internal/sentinel"
)

// The errors of claims.
const (
	ErrBroken    = sentinel.ConstError("barrier: the round was broken")
	ErrDiffering = sentinel.ConstError("barrier: the parties disagree about their number")
	ErrCrowd     = sentinel.ConstError("barrier: too many parties")
	ErrReplaced  = sentinel.ConstError("barrier: replaced by a later party with the same id")
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
