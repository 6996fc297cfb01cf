package fence

import (
	"errors"
	"fmt"
)

var (
	// ErrFenced: the possession that the sequencer stands for is over, or a newer one has been
	// admitted before it.
	ErrFenced = errors.New("fenced: the possession is over")

	// ErrMode: a [Gate] can't tell by their tokens which of several holders is the newer one, so it
	// refuses those that share.
	ErrMode = errors.New("not an exclusive sequencer")

	// ErrInvalid: a sequencer names no possession: a part of it is missing or malformed.
	ErrInvalid = errors.New("not a sequencer")
)

// invalid names the part that is wrong.
func invalid(format string, args ...any) error {
	return fmt.Errorf("fence: %w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

func fenced(q Sequencer, why string) error { return fmt.Errorf("fence: %w: %s: %s", ErrFenced, q, why) }
