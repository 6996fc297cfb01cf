package contend

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/troupe-go/troupe/internal/znode"
)

// ErrLimit fails the claims of a semaphore: its limit is not what was said, or too small for them.
var ErrLimit = errors.New("lock: the semaphore's limit is another")

// Permits is the rule of semaphores: it is own's turn when it and all ahead of it fit under the
// limit, which lives in the data of the contenders' parent. Whoever does not fit holds up all
// behind it, however little they want.
//
// It remembers whether the limit was agreed to, and so outlives the machines of one instance, one
// after the other.
type Permits struct {
	first  int  // what the limit has to be when it is first read
	agreed bool // it was
	limit  int  // as last read
}

// AtMost is the rule of a semaphore with n permits.
func AtMost(n int) *Permits { return &Permits{first: n, limit: n} }

// Before picks all ahead, or nobody. One that is no semaphore's contender takes everything.
func (p *Permits) Before(own znode.Contender, ahead []znode.Contender) []znode.Contender {
	sum := int64(own.Weight)
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

// Remains: it always has to be counted again.
func (*Permits) Remains(_, _ znode.Contender) bool { return true }

// IsLimit tells whether the data of a semaphore's parent are a limit, or no limit yet.
func IsLimit(data []byte) bool {
	data = bytes.TrimSpace(data)
	n, err := strconv.Atoi(string(data))
	return len(data) == 0 || err == nil && n > 0
}

// agree takes in what the parent's data say. unset: nobody has set the limit.
func (p *Permits) agree(data []byte) (unset bool, err error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return true, nil
	}
	n, err := strconv.Atoi(string(data))
	switch {
	case err != nil || n < 1:
		return false, fmt.Errorf("%w: the parent's data are no number of permits", ErrLimit)
	case !p.agreed && n != p.first:
		return false, fmt.Errorf("%w: it is %d, not %d", ErrLimit, n, p.first)
	}
	p.agreed, p.limit = true, n
	return false, nil
}
