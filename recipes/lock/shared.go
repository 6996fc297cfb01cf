package lock

import (
	"github.com/troupe-go/troupe/internal/contend"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

var (
	reader = kind{of: znode.Read, name: "read-", rule: contend.Shared()}
	writer = kind{of: znode.Write, name: "write-", rule: contend.Shared()}
)

// NewRead makes the read side of a shared lock: its holders hold together, and never beside a
// writer. Who comes first is served first, so that a reader also waits for a writer who waits:
// readers cannot starve writers. It waits for the exclusive locks of [New] on the same path too.
// Apart from that, all is as with [New].
//
// One instance serves its callers one after the other, as every [Lock] does: several readers of one
// process that are to hold at the same time need an instance each.
func NewRead(s *session.Session, path string, opts ...Option) (*Lock, error) {
	return build("lock.NewRead", s, path, reader, opts)
}

// NewWrite makes the write side of a shared lock: its holder holds alone. A grant of it can become
// one of the read side: [Grant.Downgrade]. The other way there is none: whoever asks for the write
// side in the context of a grant of the read side is refused with [ErrUpgrade]. Apart from that,
// all is as with [New].
func NewWrite(s *session.Session, path string, opts ...Option) (*Lock, error) {
	return build("lock.NewWrite", s, path, writer, opts)
}
