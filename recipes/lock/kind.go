package lock

import (
	"github.com/troupe-go/troupe/internal/contend"
	"github.com/troupe-go/troupe/internal/znode"
)

// kind is what sets the locks of one constructor apart from those of another.
type kind struct {
	of   znode.Kind
	name string // what the own znode's name begins with, the protection aside
	rule contend.Rule
}

var exclusive = kind{of: znode.Lock, name: "lock-", rule: contend.Exclusive()}
