package zktest

import "github.com/troupe-go/troupe/internal/zkserver"

// Dump describes the whole tree and all sessions, for a failed test's log.
func (s *Server) Dump() string { return s.inner.Dump() }

// Session is what the server knows of a client:
//
//	ID         int64
//	Timeout    time.Duration  as negotiated
//	Expires    time.Time      if nothing is heard of it before
//	Front      int            the server that it is connected to; -1: none
//	Ephemeral  []string       paths
//	Watches    int            set now: data and child watches
type Session = zkserver.SessionInfo

// Session describes a session; false if it doesn't exist, or not any more.
func (s *Server) Session(id int64) (Session, bool) { return s.inner.Session(id) }

// Sessions describes all sessions, by id.
func (s *Server) Sessions() []Session { return s.inner.Sessions() }

// SetSequence presets the counter of a znode's sequential children: the next one is numbered next.
// 3.8's counter sticks at 2147483647.
func (s *Server) SetSequence(parent string, next int32) error {
	return s.inner.SetSequence(parent, next)
}

// SetZxid presets the number of the last transaction; the next one is one more. It can only grow.
func (s *Server) SetZxid(zxid int64) error { return s.inner.SetZxid(zxid) }
