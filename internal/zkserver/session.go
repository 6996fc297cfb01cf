package zkserver

import (
	"crypto/rand"
	"math"
	"time"

	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// session is what the leader knows of a client, across connections.
type session struct {
	id       int64
	password [16]byte
	timeout  time.Duration
	deadline int64 // the tick at which it ends; see expiry
	entry    int   // its place in the expiry heap
	owner    *conn // the connection that speaks for it: writes through another one are refused
}

// firstSessionID is made as the real server makes it: the server's id in the first byte, the time
// in the next five.
func firstSessionID(now time.Time) int64 {
	return (now.UnixMilli() << 24 >> 8 & (1<<56 - 1)) | 1<<56
}

// lastSessionID is the last that a server can begin with: it leaves ids for those to come.
const lastSessionID = math.MaxInt64 - 1<<40

func newSession(id int64, timeout time.Duration) *session {
	ss := &session{id: id, timeout: timeout}
	_, _ = rand.Read(ss.password[:]) // it never fails
	return ss
}

// openSession is the transaction that begins a session.
func (s *Server) openSession(timeout time.Duration) *session {
	ss := newSession(s.nextID, timeout)
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
