package lock

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// Option configures a Lock.
type Option func(*options) error

type options struct {
	layout Layout
	weight int // 0: not given
	delay  time.Duration
	warns  bool // WithHeldWarning was given

	claims recipe.ClaimsConfig // the fields that options set
}

// warnAfter is the default of WithHeldWarning.
const warnAfter = 10 * time.Second

func optionsOf(opts []Option) (options, error) {
	o := options{claims: recipe.ClaimsConfig{WarnAfter: warnAfter}}
	for i, opt := range opts {
		if opt == nil {
			return o, fmt.Errorf("opts[%d]: nil", i)
		}
		if err := opt(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// WithData sets the data of the contender's znode, which other clients see in [Lock.Contenders]:
// the purpose of the lock, say.
//
// In Troupe's layout the znode has lines of the recipe before them. Data that begin like one of
// these ("unlock", a line "held" or "placed <number>", "by {"), or with an empty line, are written
// with an empty line in front, which Contenders and Observe take off. In the layout of another
// library the bytes are written as given: those that begin with "unlock" are taken for a revocation
// there, a line that begins with "by {" for an identity, and an empty line before any of these is
// taken off. For a shared lock, data that begin with a line "held" or "placed <number>" are refused
// there, since a downgraded writer has such a line before its data.
func WithData(data []byte) Option {
	return func(o *options) error {
		o.claims.Data = slices.Clone(data)
		return nil
	}
}

// WithHeldWarning sets the time after which a grant is logged if others wait for it, as a warning
// in the session's log, with their number and the call site that requested it. That is a grant that
// waits to be received from [Lock.Acquired], or one that is held. Grants of [Lock.Do] are not
// logged, since they end with a function. The default is 10 seconds, but held grants of
// [Lock.Acquire], which is meant to last, are logged only where this option was given. The warning
// is repeated after a minute and every ten minutes. 0 turns it off.
func WithHeldWarning(d time.Duration) Option {
	return func(o *options) error {
		if d < 0 {
			return fmt.Errorf("WithHeldWarning: d: negative: %v", d)
		}
		o.claims.WarnAfter, o.warns = d, true
		return nil
	}
}

// WithDelay sets Chubby's lock-delay for a lock of [New]: the next contender waits for d after a
// holder that died, or lost the lock in any way other than releasing it. It covers requests of the
// dead holder that are still on their way to a resource that does not check tokens. After a release
// there is no delay. All users of the path should use the same option; a lock without it does not
// wait. While the delay would run, [Lock.TryLock] returns [ErrHeld]. 0 is no delay. Closing the
// lock releases it; closing only the session does not, and the delay applies.
//
// It is session.ErrUnsupported for shared locks, semaphores, and in the layouts of other libraries.
func WithDelay(d time.Duration) Option {
	return func(o *options) error {
		if d < 0 {
			return fmt.Errorf("WithDelay: d: negative: %v", d)
		}
		o.delay = d
		return nil
	}
}

// WithACL sets the ACL of the znodes that the lock creates: its contenders' znodes, the path itself
// and its missing parents, the limit of a semaphore, and the record of [WithDelay]. Without this
// option they get the session's: see session.WithACL. The ACL of a znode that exists stays
// as it is.
//
// In ZooKeeper the right to delete a znode is given by its parent's ACL. So it is the ACL of the
// path that keeps others from deleting the holder's znode. If the path may exist already, create it
// with that ACL first.
//
// The sessions that use the lock need these rights, all of them under one ACL: to read, since they
// list the path and watch contenders; to create and delete, at the path; and to write, if they
// revoke grants, and for semaphores and the two sides of a shared lock, which mark their znodes
// when they hold. A session without the right to read its own znode loses the grant, with
// session.ErrNoAuth.
func WithACL(acl ...session.ACL) Option {
	return func(o *options) error { return recipe.SetACL(&o.claims.ACL, acl) }
}
