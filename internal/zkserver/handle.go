package zkserver

import (
	"github.com/troupe-go/troupe/internal/jute"
)

// handle serves one request; false ends the connection.
func (c *conn) handle(q *jute.Request) bool {
	s := c.s
	for {
		s.mu.Lock()
		if c.over {
			s.mu.Unlock()
			return false
		}
		g := c.heldBy(q.Op)
		if g == nil {
			break
		}
		s.mu.Unlock()
		if !c.wait(g) {
			return false
		}
	}
	c.busy = true
	s.heard(c)
	ok := s.dispatch(c, q)
	c.busy = false
	s.mu.Unlock()
	return ok
}

// heldBy is what keeps a request from being served now.
func (c *conn) heldBy(op jute.Op) *gate {
	switch {
	case c.front.frozen != nil:
		return c.front.frozen
	case c.cut != nil && c.cut.in:
		return c.cut.gate
	case c.front.isolated != nil && (op.Writes() || op == jute.OpSync):
		return c.front.isolated
	}
	return nil
}

// heard is called for whatever a client sends: it keeps its session alive.
func (s *Server) heard(c *conn) {
	if len(s.fronts) > 1 {
		c.front.note(c.session, c.timeout)
		return
	}
	if c.front.isolated == nil {
		s.touch(c.session, c.timeout)
	}
}

// dispatch carries out a request and answers it; false ends the connection.
func (s *Server) dispatch(c *conn, q *jute.Request) bool {
	switch q.Op {
	case jute.OpPing:
		c.answer(q.Op, &jute.Reply{Xid: jute.XidPing, Zxid: c.front.applied})
		return true
	case jute.OpSetAuth:
		return s.setAuth(c, q)
	case jute.OpCloseSession:
		return s.closeSession(c, q)
	}
	serve, known := operations[q.Op]
	if !known {
		c.answer(q.Op, &jute.Reply{Xid: q.Xid, Zxid: c.front.applied, Err: jute.Unimplemented})
		return false
	}
	if q.Op.Writes() && !s.speaksFor(c) {
		return false
	}
	p := jute.Reply{Xid: q.Xid}
	serve(s, c, q, &p)
	p.Zxid = c.front.applied
	c.answer(q.Op, &p)
	return true
}

// operations are all but those of the connection itself. Each fills in the reply; the lock is held.
var operations = map[jute.Op]func(*Server, *conn, *jute.Request, *jute.Reply){
	jute.OpCreate:          (*Server).write,
	jute.OpCreate2:         (*Server).write,
	jute.OpCreateContainer: (*Server).write,
	jute.OpCreateTTL:       (*Server).write,
	jute.OpDelete:          (*Server).write,
	jute.OpSetData:         (*Server).write,
	jute.OpSetACL:          (*Server).write,
	jute.OpCheck:           (*Server).write,
	jute.OpMulti:           (*Server).multi,
	jute.OpSync:            (*Server).sync,
	jute.OpExists:          (*Server).exists,
	jute.OpGetData:         (*Server).getData,
	jute.OpGetACL:          (*Server).getACL,
	jute.OpGetChildren:     (*Server).getChildren,
	jute.OpGetChildren2:    (*Server).getChildren,
	jute.OpSetWatches:      (*Server).setWatches,
}

// speaksFor reports whether the session's requests are still to come through this connection. A write through one that the session has left breaks
// it, as the real server does on "session moved".
func (s *Server) speaksFor(c *conn) bool {
	return s.sessions[c.session.id] == c.session && c.session.owner == c
}

// answer puts a reply into the outbox.
func (c *conn) answer(op jute.Op, p *jute.Reply) {
	p.Encode(c.out.begin(), op)
	c.out.end()
}
