package lock

import (
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
}

// machine is a fresh one for a lock of this kind.
func (k kind) machine(path string) machine.Machine {
	if k.form == znode.Alone {
		return solo.New(path)
	}
	return contend.New(contend.Config{Parent: path, Rule: k.rule})
}

var exclusive = kind{of: znode.Lock, name: "lock-", rule: contend.Exclusive()}
