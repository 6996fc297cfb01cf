package lock

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/internal/contend"
	"github.com/troupe-go/troupe/session"
)

// kind is what distinguishes the locks of one constructor from those of another.
type kind struct {
	of   znode.Kind
	name string // what the own znode's name begins with, the protection aside
	form znode.Form
	rule contend.Rule

	permits int // of a semaphore
	delay   time.Duration
}

// with is the kind with the options applied.
func (k kind) with(o options) (kind, error) {
	k, err := k.in(o.layout)
	if err != nil {
		return k, err
	}
	if notes, _ := znode.ParseNotes(o.claims.Data); k.of != znode.Lock && notes != (znode.Notes{}) {
		return k, errors.New("WithData: data must not begin like a note of the recipe")
	}
	if k.delay = o.delay; k.delay > 0 && (k.of != znode.Lock || o.layout != Troupe) {
		return k, fmt.Errorf("WithDelay: %w: only exclusive locks in Troupe's own layout have delays", session.ErrUnsupported)
	}
	switch {
	case k.permits == 0 && o.weight != 0:
		return k, errors.New("WithWeight: only a semaphore has weights")
	case k.permits == 0:
		return k, nil
	case o.weight > k.permits:
		return k, fmt.Errorf("WithWeight: n: %d is more than the %d permits", o.weight, k.permits)
	}
	k.name = fmt.Sprintf("lease-%d-", max(o.weight, 1))
	return k, nil
}

// limit is the initial data of a semaphore's path; nil for all other locks.
func (k kind) limit() []byte {
	if k.permits == 0 {
		return nil
	}
	return strconv.AppendInt(nil, int64(k.permits), 10)
}

// machine creates a machine for a lock of this kind.
func (k kind) machine(path string, data []byte) machine.Machine {
	if k.form == znode.Alone {
		return contend.NewSingle(path)
	}
	return contend.New(contend.Config{Parent: path, Rule: k.rule, Data: data, Delay: int64((k.delay + time.Millisecond - 1) / time.Millisecond)})
}

var exclusive = kind{of: znode.Lock, name: "lock-", rule: contend.Exclusive()}

var (
	reader = kind{of: znode.Read, name: "read-", rule: contend.Shared()}
	writer = kind{of: znode.Write, name: "write-", rule: contend.Shared()}
)

// NewRead creates the read side of a shared lock: readers hold it together, and never beside a
// writer. Contenders are served in order of arrival, so a reader also waits for a waiting writer
// ahead of it, and readers cannot starve writers. It also waits for exclusive locks of [New] on the
// same path. Otherwise it behaves like a lock of [New].
//
// An instance serves its callers one after the other, like every [Lock]: readers in one process
// that want to hold at the same time need an instance each.
func NewRead(s *session.Session, path string, opts ...Option) (*Lock, error) {
	return build("lock.NewRead", s, path, reader, opts)
}

// NewWrite creates the write side of a shared lock: a writer holds it alone. [Grant.Downgrade]
// turns its grant into one of the read side. There is no upgrade: a request for the write side in
// the context of a grant of the read side is refused with [ErrUpgrade]. Otherwise it behaves like a
// lock of [New].
func NewWrite(s *session.Session, path string, opts ...Option) (*Lock, error) {
	return build("lock.NewWrite", s, path, writer, opts)
}
