package zktest

import "github.com/troupe-go/troupe/internal/zkserver"

// Dump describes the tree and all sessions, for the log of a failed test.
func (s *Server) Dump() string { return s.inner.Dump() }

// Session describes a client's session:
//
//	ID         int64
//	Timeout    time.Duration  the negotiated timeout
//	Expires    time.Time      when it expires if the client sends nothing more
//	Front      int            the server that the client is connected to; -1: none
//	Ephemeral  []string       paths of its ephemeral znodes
//	Watches    int            number of its data and child watches
type Session = zkserver.SessionInfo

// Session describes a session. It returns false if the session does not exist, or has ended.
func (s *Server) Session(id int64) (Session, bool) { return s.inner.Session(id) }

// Sessions describes all sessions, by id.
func (s *Server) Sessions() []Session { return s.inner.Sessions() }

// SetSequence sets the counter of a znode's sequential children: the next one gets the number next.
// The counter of ZooKeeper 3.8 stops at 2147483647.
func (s *Server) SetSequence(parent string, next int32) error {
	return s.inner.SetSequence(parent, next)
}

// SetZxid sets the zxid of the last transaction; the next transaction gets the next zxid. It cannot
// be decreased.
func (s *Server) SetZxid(zxid int64) error { return s.inner.SetZxid(zxid) }
