package barrier

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Option changes how a barrier is made.
type Option func(*options) error

type options struct {
	id   string
	warn time.Duration
}

// warnAfter is when a passage is logged that blocks the others, without WithWarnAfter.
const warnAfter = 10 * time.Second

// WithID says who this is: what [Passage.Members] calls it, and what the data of a [Barrier] say
// about who raised it. It must be unique among the parties of a double barrier; by default it is a
// random one. A process that is started anew under the id that it had is known to be the same
// party: it stands in the place of its former life, whose znode ZooKeeper may not have deleted yet,
// and it is never one too many in a round that goes on. Of two that live, the later one is in the
// round, and the other gets [ErrReplaced].
func WithID(id string) Option {
	return func(o *options) error {
		if id == "" {
			return errors.New("WithID: id: empty")
		}
		if strings.Contains(id, "/") {
			return errors.New("WithID: id: has a slash")
		}
		if err := znode.Validate("/id-" + id); err != nil {
			return fmt.Errorf("WithID: id: %w", err)
		}
		o.id = id
		return nil
	}
}

// WithWarnAfter sets after which time a passage of a double barrier is logged that has not
// departed, since the other parties go no further before it does: once, as a warning in the
// session's log, with the place in the program where it was asked for, whether it waits to be
// received from [Double.Entered] or was forgotten. 10 seconds without it; 0 is never. A round whose
// work is meant to take longer than that should say how long. To a [Barrier] it means nothing.
func WithWarnAfter(d time.Duration) Option {
	return func(o *options) error {
		if d < 0 {
			return fmt.Errorf("WithWarnAfter: d: negative: %v", d)
		}
		o.warn = d
		return nil
	}
}

// configure checks what all barriers have in common.
func configure(op string, s *session.Session, path string, opts []Option) (options, error) {
	o := options{id: string(znode.NewGUID()), warn: warnAfter}
	if s == nil {
		return o, errors.New(op + ": s: nil session")
	}
	err := znode.Validate(path)
	switch {
	case err != nil:
		return o, failed(op, path, fmt.Errorf("%w: path: %w", session.ErrInvalidPath, err))
	case path == "/":
		return o, failed(op, path, fmt.Errorf("%w: path: the root is no barrier", session.ErrInvalidPath))
	}
	for i, opt := range opts {
		if opt == nil {
			return o, failed(op, path, fmt.Errorf("opts[%d]: nil", i))
		}
		if err := opt(&o); err != nil {
			return o, failed(op, path, err)
		}
	}
	return o, nil
}
