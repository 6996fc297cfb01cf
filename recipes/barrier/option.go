package barrier

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// Option configures a barrier.
type Option func(*options) error

type options struct {
	acl  []session.ACL // nil: the session's
	name string
	warn time.Duration

	untilExpiry bool
}

// warnAfter is the default of WithHeldWarning.
const warnAfter = 10 * time.Second

// WithName sets the name of this party. [Passage.Members] lists it, and it is the data of a
// [Barrier] that this process has raised. The name must be unique among the parties of a double
// barrier; the default is random. A process that restarts with the same name is the same party: it
// replaces its predecessor, whose znode ZooKeeper may not have deleted yet, and never counts as one
// party too many in a round in progress.
//
// Live processes with the same name are never inside together. If several of them wait when a round
// opens, the one that arrived last is in, and the others get [ErrReplaced]. A process that arrives
// while another one with its name is in a round waits for the next round: until all have left the
// other's round, or the other has closed, or the other's session has ended. So in a rolling
// deployment the new process may be started first; stop the old one when it has left its round.
func WithName(name string) Option {
	return func(o *options) error {
		if name == "" {
			return errors.New("WithName: name: empty")
		}
		if strings.Contains(name, "/") {
			return errors.New("WithName: name: contains a slash")
		}
		if err := znode.Validate("/id-" + name); err != nil {
			return fmt.Errorf("WithName: name: %w", err)
		}
		o.name = name
		return nil
	}
}

// WithHeldWarning sets the time after which a warning is logged for a passage of a double barrier
// that is still held: the party has not departed, so the other parties can't go on. The warning in
// the session's log has the place in the source that requested the passage, and says whether the
// passage was not even received from [Double.Entered]. The default is 10 seconds; further warnings
// follow after a minute and every ten minutes. 0 turns them off. Set a longer time if the work of a
// round takes longer. The option has no effect on a [Barrier].
func WithHeldWarning(d time.Duration) Option {
	return func(o *options) error {
		if d < 0 {
			return fmt.Errorf("WithHeldWarning: d: negative: %v", d)
		}
		o.warn = d
		return nil
	}
}

// WithUntilExpiry lets the passages of a double barrier last until their ZooKeeper session is known
// to have expired. Without this option a passage ends when the session is no longer trusted (see
// package session), so a silence of the network may cost a passage although its session lives. The
// price: after an expiry the others may leave while this party, if it is cut off, does not know it
// and still works. Valid and Commit of a passage follow trust in any case: without trust Valid is
// false, and Commit returns session.ErrLost. A [Barrier] has no passages, so [New] refuses the
// option with session.ErrUnsupported.
func WithUntilExpiry() Option {
	return func(o *options) error {
		o.untilExpiry = true
		return nil
	}
}

// configure checks the arguments that all barriers have in common.
func configure(op string, s *session.Session, path string, opts []Option) (options, error) {
	o := options{name: string(znode.NewGUID()), warn: warnAfter}
	if err := recipe.CheckNew(op, s, "path", path); err != nil {
		return o, err
	}
	if path == "/" {
		return o, recipe.Failed(s, op, path, fmt.Errorf("%w: path: the root cannot be a barrier", session.ErrInvalidPath))
	}
	return o, recipe.Failed(s, op, path, recipe.Apply(&o, opts))
}

// WithACL sets the ACL of the znodes that the barrier creates, including missing parents. Without
// it they get the session's ACL. A znode that exists keeps its own.
func WithACL(acl ...session.ACL) Option {
	return func(o *options) error { return recipe.SetACL(&o.acl, acl) }
}
