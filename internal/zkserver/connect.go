package zkserver

import (
	"crypto/subtle"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// handshake serves the first frame; false ends the connection.
func (c *conn) handshake() bool {
	first, err := c.in.word()
	if err != nil {
		return false
	}
	frame, err := c.in.body(first)
	if err != nil {
		return false
	}
	var q jute.ConnectRequest
	if q.Decode(jute.NewReader(frame)) != nil {
		return false
	}
	ok := c.connect(&q)
	c.out.flush()
	return ok
}

func (c *conn) connect(q *jute.ConnectRequest) bool {
	s := c.s
	for {
		s.mu.Lock()
		if c.over {
			s.mu.Unlock()
			return false
		}
		g := c.connectHeldBy(q.SessionID)
		if g == nil {
			break
		}
		s.mu.Unlock()
		if !c.wait(g) {
			return false
		}
	}
	defer s.mu.Unlock()
	if q.LastZxidSeen > c.front.applied {
		return false // the client has seen more than this server: it must go to another one
	}
	c.busy = true
	defer func() { c.busy = false }()
	ss := s.admit(c, q)
	p := jute.ConnectResponse{Password: make([]byte, 16), Old: q.Old}
	if ss != nil {
		p.Timeout, p.SessionID, p.Password = int32(c.timeout/time.Millisecond), ss.id, ss.password[:]
	}
	p.Encode(c.out.begin())
	c.out.end()
	return ss != nil
}

// connectHeldBy is what keeps a handshake from going on: a session is opened and resumed by the leader alone.
func (c *conn) connectHeldBy(session int64) *gate {
	switch {
	case c.front.frozen != nil:
		return c.front.frozen
	case session != 0 && c.s.cut[session] != nil:
		return c.s.cut[session].gate
	case c.front.isolated != nil:
		return c.front.isolated
	}
	return nil
}

// admit opens a session or resumes one; nil if that one is over.
func (s *Server) admit(c *conn, q *jute.ConnectRequest) *session {
	c.timeout = s.clamp(q.Timeout)
	ss := s.sessions[q.SessionID]
	switch {
	case q.SessionID == 0:
		ss = s.openSession(c.timeout)
	case ss == nil && s.replaced[q.SessionID]:
		delete(s.replaced, q.SessionID)
		ss = s.openSession(c.timeout)
	case ss == nil || subtle.ConstantTimeCompare(ss.password[:], q.Password) != 1:
		return nil
	default:
		if old := c.front.bySession[ss.id]; old != nil {
			old.finish()
		}
		s.touch(ss, c.timeout)
	}
	c.session, ss.owner = ss, c
	c.front.bySession[ss.id] = c
	return ss
}
