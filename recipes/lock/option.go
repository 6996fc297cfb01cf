package lock

import (
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
)

// Option changes how a Lock is made.
type Option func(*options) error

type options struct {
	data   []byte
	layout Layout
	weight int // 0: not given
	delay  time.Duration
	warn   time.Duration
}

// warnAfter is when a grant is logged that blocks others, without WithWarnAfter.
const warnAfter = 10 * time.Second

func optionsOf(opts []Option) (options, error) {
	o := options{warn: warnAfter}
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

// WithData puts data into the contender znode, for others to see with [Lock.Contenders]: who this
// is, say. They must not begin with "unlock", which is how a revocation is written; nor, in a
// semaphore or a shared lock, with a line "held" or "placed <number>", which these note themselves.
func WithData(data []byte) Option {
	return func(o *options) error {
		if znode.Revoked(data) {
			return errors.New("WithData: data must not begin with \"unlock\"")
		}
		o.data = append([]byte(nil), data...)
		return nil
	}
}

// WithWarnAfter sets after which time a grant that nobody else can get meanwhile is logged, once,
// as a warning in the session's log, with the place in the program where it was asked for: one that
// waits to be received from [Lock.Acquired], and one that is held; not those of [Lock.Do], which
// end with a function. 10 seconds without it; 0 is never, for a lock that is meant to be held for
// long.
func WithWarnAfter(d time.Duration) Option {
	return func(o *options) error {
		if d < 0 {
			return fmt.Errorf("WithWarnAfter: d: negative: %v", d)
		}
		o.warn = d
		return nil
	}
}

// WithDelay has a lock of [New] wait for d after a holder that died, or lost it otherwise than by
// giving it up, before it is granted to the next: Chubby's lock-delay. It is for what the dead one
// may still have on its way to a resource that does not check tokens. After a release there is no
// delay. All who use the path should say the same; whoever says nothing does not wait.
// [Lock.TryLock] is refused with [ErrHeld] while the delay would run. 0 is no delay. Closing the
// lock gives it up; closing the session alone does not.
//
// It is session.ErrUnsupported for shared locks, semaphores, and in the layouts of others.
func WithDelay(d time.Duration) Option {
	return func(o *options) error {
		if d < 0 {
			return fmt.Errorf("WithDelay: d: negative: %v", d)
		}
		o.delay = d
		return nil
	}
}
