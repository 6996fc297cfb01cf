package lock

import (
	"github.com/troupe-go/troupe/internal/contend"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/fence"
)

// kind is what sets the locks of one constructor apart from those of another.
type kind struct {
	of   znode.Kind
	name string // what the own znode's name begins with, the protection aside
	mode fence.Mode
	rule contend.Rule
}

var exclusive = kind{of: znode.Lock, name: "lock-", mode: fence.Exclusive, rule: contend.Exclusive()}
