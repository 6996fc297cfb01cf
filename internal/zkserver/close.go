package zkserver

import "github.com/troupe-go/troupe/internal/jute"

// closeSession ends the client's session and, after the answer, the connection. Unlike a write it
// counts also through a connection that the session has left, as on the real server.
func (s *Server) closeSession(c *conn, q *jute.Request) bool {
	if s.sessions[c.session.id] == c.session {
		s.cfg.Logger.Debug("session closed", "session", c.session.id)
		s.endSession(c.session)
		c.front.catchUp()
		c.answer(q.Op, &jute.Reply{Xid: q.Xid, Zxid: c.front.applied})
	}
	return false
}
