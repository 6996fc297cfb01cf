package zkserver

import (
	"cmp"
	"crypto/rand"
	"maps"
	"slices"
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

// openSession is the transaction that begins a session. One without a timeout does not expire.
func (s *Server) openSession(timeout time.Duration) *session {
	ss := &session{id: s.nextID, timeout: timeout}
	_, _ = rand.Read(ss.password[:]) // it never fails
	s.nextID++
	s.sessions[ss.id] = ss
	if timeout > 0 {
		s.expiry.add(s, ss)
	}
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

// What a test does to sessions, and sees of them.

// Expire ends a session now, as if its timeout had passed: its ephemerals go, its connection is
// closed, and when the client comes back it is told. It is false if there is no such session.
func (s *Server) Expire(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessions[id]
	if ss == nil {
		return false
	}
	s.expireNow(ss)
	return true
}

// expireNow ends a session that has expired. The caller holds the lock.
func (s *Server) expireNow(ss *session) {
	s.cfg.Logger.Info("session expired", "session", ss.id)
	s.endSession(ss)
}

// Replace ends a session, and when its client reconnects gives it a new one, with another id,
// without saying that the old one is over. ClickHouse Keeper does that.
func (s *Server) Replace(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessions[id]
	if ss == nil {
		return false
	}
	s.replaced[id] = true
	s.expireNow(ss)
	return true
}

// LoseSessions ends all sessions, as a server does that has lost its disk.
func (s *Server) LoseSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ss := range s.sorted() {
		s.expireNow(ss)
	}
}

// Disconnect closes the connections of a session. It is false if there are none.
func (s *Server) Disconnect(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := false
	for _, f := range s.fronts {
		if c := f.bySession[id]; c != nil {
			c.abort()
			found = true
		}
	}
	return found
}

// SessionInfo describes a session.
type SessionInfo struct {
	ID        int64
	Timeout   time.Duration // as negotiated; 0: it does not expire
	Expires   time.Time     // if it is not heard of before; zero: never
	Front     int           // where it is connected; -1: nowhere
	Ephemeral []string      // paths
	Watches   int           // set now: data and child watches
}

// Session describes one session; false if there is none.
func (s *Server) Session(id int64) (SessionInfo, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessions[id]
	if ss == nil {
		return SessionInfo{}, false
	}
	return s.describe(ss), true
}

// describe is Session with the lock held.
func (s *Server) describe(ss *session) SessionInfo {
	info := SessionInfo{ID: ss.id, Timeout: ss.timeout, Front: -1, Ephemeral: s.tree.Ephemerals(ss.id)}
	if ss.timeout > 0 {
		info.Expires = s.tickTime(ss.deadline)
	}
	if f := ss.owner; f != nil && f.bySession[ss.id] != nil {
		c := f.bySession[ss.id]
		info.Timeout, info.Front = c.timeout, f.index
		info.Watches = f.data.Of(c) + f.child.Of(c)
	}
	return info
}

// Sessions describes all sessions, by id.
func (s *Server) Sessions() []SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []SessionInfo
	for _, ss := range s.sorted() {
		all = append(all, s.describe(ss))
	}
	return all
}

// sorted are all sessions, by id.
func (s *Server) sorted() []*session {
	return slices.SortedFunc(maps.Values(s.sessions), func(a, b *session) int { return cmp.Compare(a.id, b.id) })
}
