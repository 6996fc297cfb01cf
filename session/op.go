package session

import (
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/znode"
)

// Op is one operation of a transaction: see [Session.Multi] and [Hold.Commit]. [CheckOp],
// [CreateOp], [SetOp] and [DeleteOp] make one.
type Op struct {
	ask  jute.Request // its path is the session's, without the namespace
	err  error        // what is wrong with it
	hold *Hold        // see Under
}

// Under puts a transaction under a possession of the same session, by one of its operations: the
// transaction is not sent once the possession is over, as if that operation had failed. Whoever
// ends the possession, and sends something on the session afterwards, can rely on it that the
// latter is carried out behind everything that was sent under the possession.
//
// It goes with a check of the znode that stands for the possession, [CheckOp] of its [Hold.Path]
// with -1, which keeps the transaction from being carried out when the possession was lost. If that
// check fails, the possession is over with [ErrDeleted]. [Hold.Commit] does all of that by itself.
//
// If the transaction comes to nothing for that, [Session.Multi] and Commit return [ErrLost] with
// the cause; the answer to a recipe is [ErrNoNode] at this operation.
func (o Op) Under(p Possession) Op {
	if o.hold = holdOf(p); o.hold == nil && o.err == nil {
		o.err = fmt.Errorf("Under: p: %w: no possession", ErrLost)
	}
	return o
}

// CheckOp lets the transaction fail unless the znode exists and has this version; -1 stands for
// any.
func CheckOp(path string, version int32) Op {
	return Op{ask: jute.Request{Op: jute.OpCheck, Path: path, Version: version}}
}

// SetOp replaces a znode's data if it has this version; -1 stands for any.
func SetOp(path string, data []byte, version int32) Op {
	return Op{ask: jute.Request{Op: jute.OpSetData, Path: path, Data: data, Version: version}}
}

// DeleteOp deletes a childless znode if it has this version; -1 stands for any.
func DeleteOp(path string, version int32) Op {
	return Op{ask: jute.Request{Op: jute.OpDelete, Path: path, Version: version}}
}

// CreateOp creates a znode. Of the options, [Ephemeral], [Sequential] and [NodeACL] are possible in
// a transaction; others are [ErrUnsupported].
func CreateOp(path string, data []byte, opts ...CreateOption) Op {
	spec, err := newCreation(opts)
	op := Op{ask: jute.Request{Op: jute.OpCreate, Path: path, Data: data, Flags: spec.mode, ACL: spec.acl}, err: err}
	if err == nil && (spec.parents || spec.protected || spec.mode > jute.FlagEphemeralSequential) {
		op.err = fmt.Errorf("%w: in a transaction only Ephemeral, Sequential and NodeACL", ErrUnsupported)
	}
	return op
}

// validate says what is wrong with a path.
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
