package recipe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// CheckNew checks the arguments that all constructors have. The error names the argument: a nil
// session, a closed session (session.ErrClosed), or a path that no recipe may have
// (session.ErrInvalidPath): the root of ZooKeeper, or a path below /zookeeper. With a chroot or a
// namespace, "/" is allowed.
func CheckNew(op string, s *session.Session, argument, path string) error {
	if s == nil {
		return errors.New(op + ": s: nil session")
	}
	err := CheckPath(s, argument, path)
	if err == nil && s.Err() != nil {
		err = fmt.Errorf("s: the session is %w", session.ErrClosed)
	}
	return Failed(s, op, path, err)
}

// CheckPath checks the path of a recipe, as [CheckNew] does.
func CheckPath(s *session.Session, argument, path string) error {
	err := znode.Validate(path)
	if err == nil {
		switch absolute := s.Path(path); {
		case absolute == "/":
			err = errors.New("it is the root of ZooKeeper")
		case absolute == "/zookeeper", strings.HasPrefix(absolute, "/zookeeper/"):
			err = errors.New("/zookeeper is ZooKeeper's own")
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", session.ErrInvalidPath, argument, err)
	}
	return nil
}

// Apply applies the options of a constructor or a call. The error is that of the first one that
// fails; of a nil one it names the index.
func Apply[O any, F ~func(*O) error](o *O, opts []F) error { return seam.Apply(o, opts) }

// SetACL implements the options WithACL: it checks the ACL and stores a copy.
func SetACL(to *[]session.ACL, acl []session.ACL) error {
	if err := seam.CheckACL.(func([]session.ACL) error)(acl); err != nil {
		return fmt.Errorf("WithACL: acl: %w", err)
	}
	*to = slices.Clone(acl)
	return nil
}

// Failed wraps an error with the operation and the path. The text shows the absolute path, once: an
// error of the session for that path has it already. s may be nil.
func Failed(s *session.Session, op, path string, err error) error {
	var oe *session.OpError
	if err == nil || errors.As(err, &oe) && oe.Path == path {
		return err
	}
	return seam.Failed.(func(s *session.Session, op, path string, err error) error)(s, op, path, err)
}

// Form is the form of the names of contenders' znodes. It determines how an instance recognises its
// own znode after a lost reply: by a GUID in the name, or, in the forms from [OfSession] on, by the
// owner and the data.
type Form = znode.Form

// The forms. Those of other libraries are for paths that are shared with them.
const (
	Dashed    = znode.Dashed    // _c_<guid>-<name><number>: the default, also Curator's
	Undashed  = znode.Undashed  // _c_<guid without dashes>-<name><number>: go-zookeeper
	Bare      = znode.Bare      // <guid without dashes><name><number>: kazoo
	Page      = znode.Page      // <guid>-<name><number>: ZooKeeper's recipe page
	OfSession = znode.OfSession // <name><session id>-<number>: WriteLock of ZooKeeper's Java recipes
	Plain     = znode.Plain     // <name><number>: LeaderElectionSupport of ZooKeeper's Java recipes
	Alone     = znode.Alone     // the znode at the path itself: there is no queue
)

// client is the part of a session that a host uses.
type client interface {
	seam.Client
	Describe(f func(*session.Snapshot))
	Commit(number uint64, ops []session.Op, done func([]session.Result, error))
	End(h *session.Hold, cause error) bool
	Hold(number uint64, path string, token int64, ended func(cause error)) (*session.Hold, error)
}

// Start begins to connect a session, if that has not begun, and does not wait. The first operation,
// watch or intent does so too.
func Start(s *session.Session) { seam.Start.(func(*session.Session))(s) }

// WithDeferredStart is an option of a session, for programs that make everything first, and start
// the session later or not at all, as package fxmodule does. With it, objects that only follow
// ZooKeeper, config.Cell and twopc.Site, wait until the session is started: by [Start],
// session.Session.Connect, or the first request. Without it, they start the session when they are
// made.
func WithDeferredStart() session.Option { return seam.DeferStart.(session.Option) }

// AfterStart starts a session and calls f at once. With [WithDeferredStart] it does not start the
// session: f is called when another call starts it, by that call, so f must not block. If the
// session ends before that, f is called then, and finds it ended.
func AfterStart(s *session.Session, f func()) {
	seam.AfterStart.(func(*session.Session, func()))(s, f)
}

// EnsureAbove makes the missing znodes above a path, as persistent znodes. times is how often in a
// row this is done for the same purpose: from the third time on it pauses first, and the third is
// logged, because another client deletes what it makes. Errors are those of
// session.Session.EnsurePath.
func EnsureAbove(ctx context.Context, s *session.Session, path string, times int) error {
	return seam.EnsureAbove.(func(context.Context, *session.Session, string, int) error)(ctx, s, path, times)
}

// Logger is the logger of a session: see session.WithLogger.
func Logger(s *session.Session) *slog.Logger {
	return seam.Logger.(func(*session.Session) *slog.Logger)(s)
}

// Headers are what travels with an item that is put with ctx, names and values by turns: the trace
// of package telemetry; nil without it.
func Headers(ctx context.Context, s *session.Session) []string {
	return seam.Headers.(func(context.Context, *session.Session) []string)(ctx, s)
}

// Identity is how contenders of a session identify themselves: see session.WithIdentity.
func Identity(s *session.Session) session.Identity { return session.Identity(seam.Identity(s)) }

// Scope is the scope of a session in the tree of actors.
func Scope(s *session.Session) actors.Scope {
	return seam.Scope.(func(*session.Session) actors.Scope)(s)
}

// HoldOf is the hold of a possession; nil if the possession is nil or embeds nil, or has no hold,
// as an item that was taken with queue.WithAutoAck.
func HoldOf(p session.Possession) *session.Hold {
	return seam.HoldOf.(func(session.Possession) *session.Hold)(p)
}

// HoldsFrom are the holds that a context stands under: those whose Context it descends from, and
// those that it was put under with [Within], innermost first. Ended ones are among them. A lock
// refuses a wait that would wait for one of them.
func HoldsFrom(ctx context.Context) []*session.Hold {
	return seam.HoldsFrom.(func(context.Context) []*session.Hold)(ctx)
}

// Within puts a context under a possession. The context that it returns ends with the first of ctx
// and the possession, with the cause of that one, and [HoldsFrom] finds its hold beside those that
// ctx stood under. The function releases what this takes, and cancels the context. If p is no
// possession, the context is cancelled already.
func Within(ctx context.Context, p session.Possession) (context.Context, context.CancelFunc) {
	return seam.Within.(func(context.Context, session.Possession) (context.Context, context.CancelFunc))(ctx, p)
}

// Under puts a transaction under a possession of the same session, by one of its operations: the
// transaction is not sent once the possession is over, as if that operation had failed. A request
// that is sent on the session after the end of the possession is carried out behind everything that
// was sent under the possession.
//
// It goes with a check of the znode that stands for the possession, session.CheckOp of its
// Hold.Path with -1, which keeps the transaction from being carried out when the possession was
// lost. If that check fails, the possession is over with session.ErrDeleted. session.Hold.Commit
// does all of that by itself.
//
// If the transaction fails for that, session.Session.Multi and Commit return session.ErrLost with
// the cause; the answer to a recipe is session.ErrNoNode at this operation.
func Under(op session.Op, p session.Possession) session.Op {
	return seam.Under.(func(session.Op, session.Possession) session.Op)(op, p)
}

// JoinHolds makes one possession of several. It lasts while all its parts do, and ends with the
// first part that ends, at the same instant and with the same Err; the other parts go on. Path,
// Token and Session are those of the first part. Its Commit checks all parts in its transaction,
// and fails with session.ErrUnsupported if they belong to several sessions. Under its Context,
// [HoldsFrom] finds the parts.
//
// ended is called once, when the joined possession has ended, with its Err, from any goroutine,
// with no locks held; it must not block. The returned function ends the joined possession, and
// leaves its parts alone; false: it had ended before, or a part had outlived its session's trust,
// as with [Host.End]. parts must not be empty, and none of them a joined possession.
func JoinHolds(parts []*session.Hold, ended func(cause error)) (joined *session.Hold, end func(cause error) bool) {
	return seam.JoinHolds.(func([]*session.Hold, func(error)) (*session.Hold, func(error) bool))(parts, ended)
}
