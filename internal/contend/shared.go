package contend

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
)

// Shared is the rule of shared locks: a reader waits for everybody ahead who is no reader, and so
// watches the last of those; everybody else waits for all ahead. What the own znode's name says
// decides which of the two it is, and so does another's: a reader of whatever library is a reader.
func Shared() Rule { return shared{} }

type shared struct{}

func (shared) Before(own znode.Contender, ahead []znode.Contender) []znode.Contender {
	if own.Kind != znode.Read {
		return ahead
	}
	return slices.DeleteFunc(slices.Clone(ahead), func(c znode.Contender) bool { return c.Kind == znode.Read })
}

// Remains: what a writer leaves in its place is a reader.
func (shared) Remains(own, last znode.Contender) bool {
	return own.Kind != znode.Read && last.Downgrades()
}
