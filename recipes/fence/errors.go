package fence

import (
	"errors"
	"fmt"
)

var (
	// ErrFenced: the possession of the sequencer has ended, or a newer one was admitted before.
	ErrFenced = errors.New("fenced: the possession is over")

	// ErrMode: a [Gate] refuses shared holders, since their tokens do not tell which is newer.
	ErrMode = errors.New("not an exclusive sequencer")

	// ErrInvalid: a part of the sequencer is missing or malformed.
	ErrInvalid = errors.New("not a sequencer")
)

// invalid names the part that is wrong.
func invalid(format string, args ...any) error {
	return fmt.Errorf("fence: %w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

func fenced(q Sequencer, why string) error { return fmt.Errorf("fence: %w: %s: %s", ErrFenced, q, why) }
