package contend

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/troupe-go/troupe/internal/znode"
)

// Rule decides which contenders have to wait for which.
type Rule interface {
	// Before picks, from the contenders ahead of self (first to last), those that self has to wait
	// for, in the same order. If there are none, it is self's turn. The last one picked is watched.
	Before(self znode.Contender, ahead []znode.Contender) []znode.Contender

	// LeavesAnother tells whether the end of last may leave another contender in its place that
	// self would have to wait for too. If not, and if last is the only one ahead, it is self's turn
	// when last is deleted, without another listing.
	LeavesAnother(self, last znode.Contender) bool
}

// Exclusive is the rule of exclusive locks and elections: each contender waits for all ahead of it.
func Exclusive() Rule { return exclusive{} }

type exclusive struct{}

func (exclusive) Before(_ znode.Contender, ahead []znode.Contender) []znode.Contender { return ahead }

func (exclusive) LeavesAnother(_, last znode.Contender) bool { return last.Downgrades() }

// Shared is the rule of shared locks: a reader waits for all ahead that are not readers, and
// watches the last of them; all others wait for all ahead. The name of a znode tells whether it is
// a reader's, also for readers of other libraries.
func Shared() Rule { return shared{} }

type shared struct{}

func (shared) Before(self znode.Contender, ahead []znode.Contender) []znode.Contender {
	if self.Kind != znode.Read {
		return ahead
	}
	return slices.DeleteFunc(slices.Clone(ahead), func(c znode.Contender) bool { return c.Kind == znode.Read })
}

// LeavesAnother: a writer may leave a reader in its place, for which readers do not wait.
func (shared) LeavesAnother(self, last znode.Contender) bool {
	return self.Kind != znode.Read && last.Downgrades()
}

// ErrLimit fails the claims of a semaphore: its limit is not the expected one, or is too small for
// them.
var ErrLimit = errors.New("the semaphore's limit is another")

// Permits is the rule of semaphores: it is a contender's turn when it and all ahead of it fit under
// the limit, which is in the data of the contenders' parent. A contender that does not fit blocks
// all behind it, even those that would fit.
//
// It remembers the limit, and that the first read showed the expected one: from then on another
// limit is a change, not an error. So all machines of one instance, one after the other, share it.
type Permits struct {
	first  int  // the expected limit
	agreed bool // the first read showed it
	limit  int  // as last read; the expected one before

	Follows func() bool // any limit is right, since the instance has set it; nil: never
}

// AtMost is the rule of a semaphore with n permits, for one instance.
func AtMost(n int) *Permits { return &Permits{first: n, limit: n} }

// Before picks all contenders ahead, or none. One of another kind counts as all permits.
func (p *Permits) Before(self znode.Contender, ahead []znode.Contender) []znode.Contender {
	sum := int64(self.Weight)
	for _, c := range ahead {
		if c.Kind != znode.Lease {
			return ahead
		}
		sum += int64(c.Weight)
	}
	if sum > int64(p.limit) {
		return ahead
	}
	return nil
}

// LeavesAnother is always true: the permits have to be counted again.
func (*Permits) LeavesAnother(_, _ znode.Contender) bool { return true }

// IsLimit tells whether the data of a semaphore's parent are a limit, or no limit yet.
func IsLimit(data []byte) bool {
	data = bytes.TrimSpace(data)
	n, err := strconv.Atoi(string(data))
	return len(data) == 0 || err == nil && n > 0
}

// agree reads the limit from the parent's data. unset: it has not been set yet.
func (p *Permits) agree(data []byte) (unset bool, err error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return true, nil
	}
	n, err := strconv.Atoi(string(data))
	switch {
	case err != nil || n < 1:
		return false, fmt.Errorf("%w: the parent's data are no number of permits", ErrLimit)
	case !p.agreed && n != p.first && (p.Follows == nil || !p.Follows()):
		return false, fmt.Errorf("%w: it is %d, not %d", ErrLimit, n, p.first)
	}
	p.agreed, p.limit = true, n
	return false, nil
}
