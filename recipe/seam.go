package recipe

import (
	"context"
	"log/slog"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/session"
)

// client is what a host has of its session.
type client interface {
	seam.Client
	Commit(number uint64, ops []session.Op, done func([]session.Result, error))
	End(h *session.Hold, cause error) bool
	Hold(number uint64, path string, token int64, ended func(cause error)) (*session.Hold, error)
}

// AfterStart starts a session and calls f, at once. With session.WithDeferredStart it does not
// start the session, and f is called when something else has: by whoever does, so f must not block.
// If the session ends before that f is called too, so that it can see that.
func AfterStart(s *session.Session, f func()) {
	seam.AfterStart.(func(*session.Session, func()))(s, f)
}

// EnsureAbove makes what is missing above a path, so many times in a row, as persistent znodes.
// From the third on it pauses first, and the third is logged: somebody deletes what it makes.
// Errors are those of session.Session.EnsurePath.
func EnsureAbove(ctx context.Context, s *session.Session, path string, times int) error {
	return seam.EnsureAbove.(func(context.Context, *session.Session, string, int) error)(ctx, s, path, times)
}

// Logger is where a session logs, see session.WithLogger.
func Logger(s *session.Session) *slog.Logger {
	return seam.Logger.(func(*session.Session) *slog.Logger)(s)
}

// Identity is what contenders of a session say about themselves: see session.WithIdentity.
func Identity(s *session.Session) session.Identity { return seam.Identity(s) }

// Scope is where in the tree of actors what belongs to a session lives.
func Scope(s *session.Session) actors.Scope {
	return seam.Scope.(func(*session.Session) actors.Scope)(s)
}

// HoldOf is the hold of a possession; nil if it, or what it embeds, is nil, or if it has none, as
// an item that was taken with queue.WithAutoAck.
func HoldOf(p session.Possession) *session.Hold {
	return seam.HoldOf.(func(session.Possession) *session.Hold)(p)
}

// JoinHolds makes one possession of several. It stands while all its parts do, and ends with the
// first that ends, at the same instant and with the same Err; the other parts go on. Path, Token
// and Session are those of the first part. Its Commit checks all of them in its transaction, and is
// session.ErrUnsupported where they belong to several sessions. Under its Context,
// session.HoldsFrom finds the parts.
//
// ended is called once, when the whole is over, with its Err, from any goroutine, with no locks
// held; it must not block. The function that is returned ends the whole and leaves its parts alone;
// false: it was over already, or a part had outlived its session's trust, as with [Host.End]. parts
// are not empty, and none of them is a whole.
func JoinHolds(parts []*session.Hold, ended func(cause error)) (joined *session.Hold, end func(cause error) bool) {
	return seam.JoinHolds.(func([]*session.Hold, func(error)) (*session.Hold, func(error) bool))(parts, ended)
}
