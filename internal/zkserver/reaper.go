package zkserver

import (
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// armReaper has the next look at empty containers and expired TTL znodes taken, if there are any at
// all. It is taken at whole multiples of the interval since the server's start.
func (s *Server) armReaper() {
	if s.closed || s.reaper != nil || s.tree.NumReapable() == 0 {
		return
	}
	past := time.Since(s.started)
	next := (past/s.cfg.ContainerCheck + 1) * s.cfg.ContainerCheck
	// Runs on the timer's own goroutine and ends at once; Close stops it, and after that it does
	// nothing.
	s.reaper = time.AfterFunc(next-past, s.reap)
}

func (s *Server) reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.reaper = nil
	for _, path := range s.tree.Reapable(s.now()) {
		change, code := s.tree.Prepare(tree.Caller{}, &jute.Request{Op: jute.OpDeleteContainer, Path: path})
		t := &txn{}
		if code == jute.OK {
			t.changes = []tree.Change{change}
		}
		s.commit(t, nil)
	}
	s.armReaper()
}
