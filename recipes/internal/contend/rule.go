package contend

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
)

// Rule decides which contenders have to wait for which.
type Rule interface {
	// Before picks, from those that stand before self (first to last), the ones that self has to
	// wait for, in the same order. None: it is self's turn. The last one picked is watched.
	Before(self znode.Contender, ahead []znode.Contender) []znode.Contender

	// LeavesAnother tells whether the end of the one that self waits for may leave something in its
	// place that self would have to wait for too. If not, and if it was the only one, it is self's
	// turn when it goes, without another listing.
	LeavesAnother(self, last znode.Contender) bool
}

// Exclusive is the rule of exclusive locks and elections: each waits for all ahead of it.
func Exclusive() Rule { return exclusive{} }

type exclusive struct{}

func (exclusive) Before(_ znode.Contender, ahead []znode.Contender) []znode.Contender { return ahead }

func (exclusive) LeavesAnother(_, last znode.Contender) bool { return last.Downgrades() }

// Shared is the rule of shared locks: a reader waits for all ahead that are not readers, and
// watches the last of them; all others wait for all ahead. The name of a znode tells which of the
// two it is: a reader of any library is a reader.
func Shared() Rule { return shared{} }

type shared struct{}

func (shared) Before(self znode.Contender, ahead []znode.Contender) []znode.Contender {
	if self.Kind != znode.Read {
		return ahead
	}
	return slices.DeleteFunc(slices.Clone(ahead), func(c znode.Contender) bool { return c.Kind == znode.Read })
}

// LeavesAnother: what a writer leaves in its place is a reader.
func (shared) LeavesAnother(self, last znode.Contender) bool {
	return self.Kind != znode.Read && last.Downgrades()
}
