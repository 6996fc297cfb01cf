package lock

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/troupe-go/troupe/internal/contend"
	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/solo"
	"github.com/troupe-go/troupe/internal/znode"
)

// kind is what sets the locks of one constructor apart from those of another.
type kind struct {
	of   znode.Kind
	name string // what the own znode's name begins with, the protection aside
	form znode.Form
	rule contend.Rule

	permits int // of a semaphore
}

// with is the kind that the options make of it.
func (k kind) with(o options) (kind, error) {
	k, err := k.in(o.layout)
	if err != nil {
		return k, err
	}
	if notes, _ := znode.ParseNotes(o.data); k.of != znode.Lock && notes != (znode.Notes{}) {
		return k, errors.New("WithData: data must not begin with a note of the recipe's own")
	}
	switch {
	case k.permits == 0 && o.weight != 0:
		return k, errors.New("WithWeight: only a semaphore has weights")
	case k.permits == 0:
		return k, nil
	case o.weight > k.permits:
		return k, fmt.Errorf("WithWeight: n: %d, more than the %d permits", o.weight, k.permits)
	}
	k.name = fmt.Sprintf("lease-%d-", max(o.weight, 1))
	return k, nil
}

// limit is what a semaphore's parent says when it is made; nil for all others.
func (k kind) limit() []byte {
	if k.permits == 0 {
		return nil
	}
	return strconv.AppendInt(nil, int64(k.permits), 10)
}

// machine is a fresh one for a lock of this kind.
func (k kind) machine(path string, data []byte) machine.Machine {
	if k.form == znode.Alone {
		return solo.New(path)
	}
	return contend.New(contend.Config{Parent: path, Rule: k.rule, Data: data})
}

var exclusive = kind{of: znode.Lock, name: "lock-", rule: contend.Exclusive()}
