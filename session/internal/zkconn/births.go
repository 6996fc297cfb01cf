package zkconn

import (
	"errors"

	"github.com/troupe-go/troupe/internal/jute"
)

// births is what is known of the servers' create2, which answers a create with the znode's Stat.
// ZooKeeper has it since 3.5; within a transaction the Stat that it answers with is empty, in 3.8
// at least. An older server says that it is unimplemented and hangs up; other servers just hang up
// at what they don't know.
type births struct{ support }

// support is what is known of an operation that not all servers have.
type support struct {
	known   bool // one was answered
	lost    int  // answers, before any came
	lacking bool // it is not asked for any more
	told    bool // a server said so
}

// doubtful is how many answers may be lost before the servers are taken for those that hang up.
const doubtful = 2

// op is how a znode is created.
func (b *births) op() jute.Op {
	if b.lacking {
		return jute.OpCreate
	}
	return jute.OpCreate2
}

// learn takes what became of a request that was sent.
func (s *support) learn(err error) {
	switch {
	case errors.Is(err, ErrUnsupported):
		s.lacking, s.told = true, true
	case errors.Is(err, ErrCutOff) && !errors.Is(err, ErrCutOffUsual):
		s.lost++
		s.lacking = s.lacking || !s.known && s.lost >= doubtful
	case !errors.Is(err, ErrNoReply):
		s.known = true
	}
}
