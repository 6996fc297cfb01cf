package zkserver

import (
	"crypto/subtle"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// handshake serves the first frame; false ends the connection.
func (c *conn) handshake() bool {
	first, err := c.in.word()
	if err != nil || c.word(first) {
		return false
	}
	c.s.mu.Lock()
	c.expect()
	c.s.mu.Unlock()
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

// connect is handle for a handshake; false ends the connection.
func (c *conn) connect(q *jute.ConnectRequest) bool {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.await(func(c *conn) *gate { return c.connectArrivalGate(q.SessionID) }) {
		return false
	}
	c.came(time.Now())
	c.rq = s.receive(c, q.SessionID, &jute.Request{Op: jute.OpCreateSession})
	v := s.decide(c.rq)
	if !c.pause(v.delay + c.front.queueUp(time.Now())) {
		return false
	}
	if !c.await(func(c *conn) *gate { return c.connectServiceGate(q.SessionID) }) || c.front.suspended() {
		return false
	}
	defer c.putInJournal()
	switch {
	case v.action == dropRequest: // the connection stays without a session, until expect ends it
		c.deaf = true
		return true
	case v.action == cutBefore, q.LastZxidSeen > c.front.applied:
		return false // a client that has seen more than this server must go to another one
	case v.action == failWith:
		c.welcome(q, nil)
		return false
	}
	c.busy, c.mute = true, v.action != pass
	ss := s.admit(c, q)
	c.welcome(q, ss)
	c.busy, c.mute = false, false
	if v.action == cutAfter {
		c.abort()
	}
	return ss != nil
}

// welcome answers the handshake; without a session it says that the one asked for is over.
func (c *conn) welcome(q *jute.ConnectRequest, ss *session) {
	if c.rq != nil {
		c.rq.Served, c.rq.Replied = ss != nil, !c.mute
	}
	c.front.traffic.handshakes++
	c.served(jute.OpCreateSession, 0, c.front.applied)
	if c.mute {
		return
	}
	p := jute.ConnectResponse{Password: make([]byte, 16), Old: q.Old}
	if ss != nil {
		p.Timeout, p.SessionID, p.Password = int32(c.timeout/time.Millisecond), ss.id, ss.password[:]
	}
	w := c.out.begin()
	p.Encode(w)
	c.out.end()
	c.sentOut()
}

// connectArrivalGate is arrivalGate for a handshake, which may ask for a session that is cut off.
func (c *conn) connectArrivalGate(session int64) *gate {
	for _, x := range c.s.cuts {
		if x.in && x.covers(c.host, session) {
			return x.gate
		}
	}
	return c.arrivalGate()
}

// connectServiceGate is serviceGate for a handshake: sessions are opened and resumed by the leader
// alone, or by a front that takes itself for the leader.
func (c *conn) connectServiceGate(session int64) *gate {
	switch {
	case c.front.frozen != nil:
		return c.front.frozen
	case c.front.believes(session):
		return nil
	case session == 0 && c.front.isolated == nil: // a session is resumed all the same: see HoldUp
		return c.front.heldUp
	}
	return c.front.isolated
}

// admit opens a session or resumes one; nil if that one is over.
func (s *Server) admit(c *conn, q *jute.ConnectRequest) *session {
	c.timeout = s.clamp(q.Timeout)
	if c.front.believes(q.SessionID) {
		return c.front.deposed.admit(c, q)
	}
	ss := s.sessions[q.SessionID]
	switch {
	case q.SessionID == 0, ss == nil && s.replaced[q.SessionID]: // a new client, or as good as new: see Replace
		delete(s.replaced, q.SessionID)
		ss = s.openSession(c.timeout)
		c.front.catchUp()
	case ss == nil || subtle.ConstantTimeCompare(ss.password[:], q.Password) != 1:
		return nil
	default: // resumed: a former connection to this front ends
		if old := c.front.bySession[ss.id]; old != nil {
			old.finish()
		}
		s.touch(ss, time.Now(), c.timeout)
		c.front.catchUpIfFollower()
	}
	c.cutOff(q.SessionID)
	c.session, ss.owner = ss, c.front
	c.overdue.Stop()
	c.front.bySession[ss.id] = c
	c.pace()
	return ss
}
