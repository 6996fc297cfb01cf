package zkserver

import (
	"crypto/rand"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// session is what the leader knows of a client, across connections.
type session struct {
	id       int64
	password [16]byte
	timeout  time.Duration
	deadline int64  // the tick at which it ends; see expiry
	entry    int    // its place in the expiry heap
	owner    *Front // where it was opened or resumed last: writes through others are refused
}

// firstSessionID is made as the real server makes it: the server's id in the first byte, the time
// in the next five.
func firstSessionID(now time.Time) int64 {
	return (now.UnixMilli() << 24 >> 8 & (1<<56 - 1)) | 1<<56
}

// openSession is the transaction that begins a session.
func (s *Server) openSession(timeout time.Duration) *session {
	ss := &session{id: s.nextID, timeout: timeout}
	_, _ = rand.Read(ss.password[:]) // it never fails
	s.nextID++
	s.sessions[ss.id] = ss
	s.expiry.add(s, ss)
	s.commit(&txn{}, nil)
	s.cfg.Logger.Debug("session opened", "session", ss.id, "timeout", timeout)
	return ss
}

// endSession is the transaction that ends a session, by the client's wish or by expiry: its
// ephemerals go with it.
func (s *Server) endSession(ss *session) {
	if s.sessions[ss.id] != ss {
		return
	}
	delete(s.sessions, ss.id)
	s.expiry.remove(ss)
	s.commit(&txn{changes: s.tree.CloseSession(ss.id), ends: ss.id}, nil)
}

// clamp is the negotiation of a session's timeout.
func (s *Server) clamp(ms int32) time.Duration {
	return min(max(time.Duration(ms)*time.Millisecond, s.cfg.MinTimeout), s.cfg.MaxTimeout)
}

// txn is a transaction, ready to be applied.
type txn struct {
	zxid    int64
	time    int64
	changes []tree.Change
	ends    int64 // the session that it closes
}

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
