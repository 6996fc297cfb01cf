package fence

import (
	"sync"

	"github.com/troupe-go/troupe/session"
)

// news is what the session says, kept until somebody has the time to look: only the latest counts.
type news struct {
	any chan struct{} // capacity 1: there is some

	mu    sync.Mutex
	epoch uint64 // 0: none at the moment
	over  error  // the session's end
}

func newNews() *news { return &news{any: make(chan struct{}, 1)} }

// notice is called by the session, and never waits.
func (n *news) notice(what session.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch what := what.(type) {
	case session.EpochBegan:
		n.epoch = what.Epoch
	case session.EpochEnded:
		n.epoch = 0
	case session.SessionEnded:
		n.over = what.Cause
	case session.Fired:
	default:
		return // a watch stands, and fires, through every disconnection of its epoch
	}
	select {
	case n.any <- struct{}{}:
	default: // there is some already
	}
}

func (n *news) state() (epoch uint64, over error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.epoch, n.over
}
