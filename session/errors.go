package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Refusals of a request. Nothing was done, unless the comment says otherwise. They are returned in
// an [OpError]: compare with errors.Is, which takes those with Also below, and [ErrExpired], for
// go-zookeeper's errors too. It takes no other for one.
var (
	ErrNoNode                  = zkconn.ErrNoNode.Also(zk.ErrNoNode)                                   // the znode does not exist, or the parent of one to be created
	ErrNodeExists              = zkconn.ErrNodeExists.Also(zk.ErrNodeExists)                           // the znode to be created exists
	ErrBadVersion              = zkconn.ErrBadVersion.Also(zk.ErrBadVersion)                           // the znode has another version than the one asked for
	ErrNotEmpty                = zkconn.ErrNotEmpty.Also(zk.ErrNotEmpty)                               // the znode to be deleted has children
	ErrNoChildrenForEphemerals = zkconn.ErrNoChildrenForEphemerals.Also(zk.ErrNoChildrenForEphemerals) // the parent is ephemeral
	ErrNoAuth                  = zkconn.ErrNoAuth.Also(zk.ErrNoAuth)                                   // the ACL does not permit it; the text names the znode, the right, and as whom the session has asked
	ErrInvalidACL              = zkconn.ErrInvalidACL.Also(zk.ErrInvalidACL)                           // also found before anything is sent
	ErrInvalidPath             = zkconn.ErrInvalidPath.Also(zk.ErrInvalidPath)                         // also found before anything is sent
	ErrThrottled               = zkconn.ErrThrottled                                                   // the server is overloaded, and has not carried it out
	ErrUnsupported             = zkconn.ErrUnsupported                                                 // the server lacks it; or a transaction, a layout or this kind of possession can't do it

	// ErrRolledBack is the Err of a [Result] behind the operation for which its transaction failed.
	ErrRolledBack = zkconn.ErrRolledBack

	// ErrTooLarge: the encoded request is larger than [WithMaxPacket], and was not sent, since a
	// server only drops the connection. Or a server dropped the connection three times within ten
	// minutes at writes that were no larger, and answered others: its jute.maxbuffer is smaller
	// than the session was told; a minute later one is sent again. Or the answer to a read is
	// larger than sixteen times WithMaxPacket.
	ErrTooLarge = zkconn.ErrTooLarge

	// ErrNotSent: an operation of a [Session.Pipeline] was not sent. It is never carried out.
	ErrNotSent = errors.New("not sent")

	// ErrHungUp: the connection was lost eight times while the request was on it, the last time as
	// the only one, and other requests were answered each time before: the server does not know the
	// request, or refuses it without an answer, as one that is larger than its jute.maxbuffer. As
	// far as can be seen, it was not carried out.
	ErrHungUp = errors.New("the server closes the connection on this request")

	// ErrLocalSession: the server gave a local session, which can have no ephemeral znodes, and
	// does not upgrade it. This is a matter of the servers' configuration (localSessionsEnabled,
	// localSessionsUpgradingEnabled).
	ErrLocalSession = zkconn.ErrLocalSession

	// ErrAuthRequired: the server requires an authentication, and hangs up. The session goes on
	// trying, with pauses that grow, since another server may answer otherwise, and the
	// configuration may change. The log warns of it, and the error of [Session.Connect] has it.
	ErrAuthRequired = zkconn.ErrAuthRequired

	// ErrAuthFailed: a server refused a credential of [WithAuth]. It ends the session for good.
	ErrAuthFailed = zkconn.ErrAuthFailed.Also(zk.ErrAuthFailed)
)

// How a possession or a session ends.
var (
	// ErrClosed: the session was closed, or the object whose method was called.
	ErrClosed = errors.New("closed")
	// ErrExpired: the ZooKeeper session is over, and with it every ephemeral znode, or the server
	// replaced it by another. The [Session] goes on with the next epoch.
	ErrExpired = zkconn.ErrExpired.Also(zk.ErrSessionExpired)
	// ErrDataLoss comes with ErrExpired: the servers were emptied, or have an older copy of their
	// data. Versions and tokens may repeat; a lock, or leadership, may have had two holders at a
	// time. Not every loss is noticed: see docs/operations.md.
	ErrDataLoss = zkconn.ErrDataLoss
	// ErrSuspended: the connection is down. It ends possessions under [WithStrict], and reads when
	// their [RetryPolicy] gives up.
	ErrSuspended = errors.New("the connection to ZooKeeper is down")
	// ErrUntrusted: nothing has been heard from ZooKeeper's leader for so long that the session may
	// have ended there.
	ErrUntrusted = errors.New("no proof from ZooKeeper in time that the session is alive")
	// ErrDeleted: another client deleted the znode, as one does that breaks a lock.
	ErrDeleted = errors.New("the znode was deleted")
	// ErrRestarted: a part of this process failed, such as the actor of the session or of the
	// recipe, and was restarted.
	ErrRestarted = errors.New("restarted after an internal failure")
	// ErrReleased: the holder released the possession.
	ErrReleased = errors.New("released")
	// ErrLost: a possession ended otherwise than by its release. It always comes with the cause:
	// errors.Is finds both.
	ErrLost = errors.New("lost")

	// ErrUnknownOutcome: the request was sent, and the connection was lost before the reply. It was
	// carried out, or it was not, and never will be: a read tells. If it comes with another cause,
	// that of the caller's context or of the session's end, the wait ended before that was certain.
	ErrUnknownOutcome = errors.New("the outcome is unknown")
)

// OpError says which operation failed, and on which path. The errors of sessions and recipes are of
// this type; errors.Is and errors.As see the cause.
type OpError struct {
	Op   string // in small letters: "create", "lock"
	Path string // as given by the caller; "" if there is none
	Err  error  // the cause

	root string // what Path is below
}

// Error names the operation, the absolute path, with the chroot and the namespace, and the cause.
func (e *OpError) Error() string {
	if e.Path == "" {
		return e.Op + ": " + e.Err.Error()
	}
	return e.Op + " " + (&namespace{root: e.root}).path(e.Path) + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *OpError) Unwrap() error { return e.Err }

// failed wraps an error with the operation and the path, which is one of the session's; nil stays
// nil.
func (n *namespace) failed(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &OpError{Op: op, Path: path, Err: err, root: n.root}
}

// definite tells whether an error is about the request, not about the connection or its lack.
func definite(err error) bool {
	return !errors.Is(err, zkconn.ErrNotSent) && !errors.Is(err, zkconn.ErrNoReply) && !errors.Is(err, zkconn.ErrEnded)
}

// ready checks the path of a request of the application, and that the session is open.
func (q *sender) ready(path string) error {
	if err := validate(path); err != nil {
		return err
	}
	return q.open()
}

// open returns an error if the session is closed.
func (q *sender) open() error {
	g := q.state.lock()
	defer g.unlock()
	if g.closing {
		return q.lifetime.closedErr()
	}
	return nil
}

func (q *sender) fits(size int) error {
	if size > q.most {
		return fmt.Errorf("%w: %d bytes of %d", ErrTooLarge, size, q.most)
	}
	return nil
}

func validate(path string) error {
	if err := znode.Validate(path); err != nil {
		return fmt.Errorf("%w: path: %w", ErrInvalidPath, err)
	}
	return nil
}

// validateACL says what can be seen to be wrong with an ACL before it is sent: [ErrInvalidACL] if
// it is empty, or an entry has no scheme or no permissions.
func validateACL(acl []jute.ACL) error {
	if len(acl) == 0 {
		return fmt.Errorf("%w: it is empty", ErrInvalidACL)
	}
	bad := slices.IndexFunc(acl, func(a jute.ACL) bool { return a.Scheme == "" || a.Perms&^PermAll != 0 || a.Perms == 0 })
	if bad >= 0 {
		return fmt.Errorf("%w: entry %d has no scheme, or no permissions that exist", ErrInvalidACL, bad)
	}
	return nil
}
