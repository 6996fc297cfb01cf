package lock

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/internal/contend"
	"github.com/troupe-go/troupe/session"
)

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
