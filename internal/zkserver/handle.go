package zkserver

import (
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// handle serves one request; false ends the connection.
func (c *conn) handle(q *jute.Request) bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if !c.await((*conn).heldOnTheWay) {
		return false
	}
	now := time.Now()
	c.came(now)
	c.rq = c.s.receive(c, c.session.id, q)
	v := c.s.decide(c.rq)
	if v.action != dropRequest {
		c.s.heard(c, now)
	}
	if !c.pause(v.delay) || !c.await(func(c *conn) *gate { return c.heldHere(q.Op) }) {
		return false
	}
	return c.holdsUp(q, v) || c.carryOut(q, v)
}

// carryOut serves a request whose turn has come.
func (c *conn) carryOut(q *jute.Request, v Verdict) bool {
	defer c.note()
	switch v.action {
	case dropRequest:
		return true
	case cutBefore:
		return false
	case failWith:
		c.answer(q.Op, &jute.Reply{Xid: q.Xid, Zxid: c.front.applied, Err: v.code})
		return true
	}
	c.busy, c.mute = true, v.action != pass || c.ended
	ok := c.s.dispatch(c, q)
	c.busy, c.mute = false, false
	if v.action == cutAfter {
		c.abort()
	}
	return ok
}

// note puts the request that was just served into the journal.
func (c *conn) note() {
	c.s.journal.add(c.rq)
	c.rq = nil
}

// await lets a connection wait for the gate that holds it. The caller holds the server's lock,
// which is let go meanwhile. It is false if the connection is over.
func (c *conn) await(held func(*conn) *gate) bool {
	for !c.ended {
		g := held(c)
		if g == nil {
			return true
		}
		c.waited = true
		c.s.mu.Unlock()
		c.wait(g)
		c.s.mu.Lock()
	}
	return false
}

// pause waits for an interceptor's delay, in the same manner.
func (c *conn) pause(d time.Duration) bool {
	if d > 0 {
		c.waited = true
		c.s.mu.Unlock()
		timer := time.NewTimer(d)
		c.out.flush()
		select {
		case <-timer.C:
		case <-c.done:
		}
		timer.Stop()
		c.s.mu.Lock()
	}
	return !c.ended
}

// heldOnTheWay returns the gate that keeps a request from arriving, heldHere the gate that keeps
// one that has arrived from being served: a request that needs the leader waits for it, and the
// requests behind it on the connection wait too.
func (c *conn) heldOnTheWay() *gate {
	for _, x := range c.cuts {
		if x.in {
			return x.gate
		}
	}
	return c.front.frozen
}

func (c *conn) heldHere(op jute.Op) *gate {
	if c.front.frozen != nil {
		return c.front.frozen
	}
	if c.front.isolated != nil && goesToLeader(op) && (op != jute.OpSync || c.front.deposed == nil) {
		return c.front.isolated
	}
	return c.front.full()
}

// heard is called for every frame of a client, which keeps its session alive.
func (s *Server) heard(c *conn, now time.Time) {
	if len(s.fronts) > 1 || c.front.isolated != nil {
		c.front.note(c.session, c.timeout)
		return
	}
	s.touch(c.session, now, c.timeout)
}

// dispatch carries out a request and answers it; false ends the connection.
func (s *Server) dispatch(c *conn, q *jute.Request) bool {
	switch q.Op {
	case jute.OpPing:
		c.answer(q.Op, &jute.Reply{Xid: jute.XidPing, Zxid: c.front.applied})
		return true
	case jute.OpSetAuth:
		return s.setAuth(c, q)
	case jute.OpSASL:
		return s.sasl(c, q)
	case jute.OpCloseSession:
		return s.closeSession(c, q)
	}
	serve, known := operations[q.Op]
	if q.Op == jute.OpDeleteContainer && s.as.noLoneReaping {
		return false
	}
	if !known || q.Op == jute.OpCheck && s.as.noLoneCheck {
		c.answer(q.Op, &jute.Reply{Xid: q.Xid, Zxid: -1, Err: jute.Unimplemented})
		return false
	}
	if q.Op.Writes() && !s.speaksFor(c) {
		return false
	}
	if (q.Op.Writes() || q.Op == jute.OpSync) && c.front.inTouch() {
		c.front.answerPings()
	}
	p := jute.Reply{Xid: q.Xid}
	before := s.fired
	serve(s, c, q, &p)
	p.Zxid = c.front.applied
	if c.rq != nil {
		c.rq.Fired, c.rq.Served = int(s.fired-before), true
	}
	c.answer(q.Op, &p)
	return true
}

// operations are all but the ones of the connection itself. Each fills in the reply; the lock is
// held.
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
	jute.OpSetWatches2:     (*Server).setWatches,
	jute.OpAddWatch:        (*Server).addWatch,
	jute.OpCheckWatches:    (*Server).checkWatches,
	jute.OpRemoveWatches:   (*Server).removeWatches,
	jute.OpMultiRead:       (*Server).multiRead,
	jute.OpGetEphemerals:   (*Server).getEphemerals,
	jute.OpCountChildren:   (*Server).countChildren,
	jute.OpWhoAmI:          (*Server).whoAmI,
	jute.OpReconfig:        (*Server).reconfig,
	jute.OpDeleteContainer: (*Server).deleteContainer,
}

// speaksFor reports whether the session is at this connection's front. A write through one that the
// session has left breaks the connection, as the real server does on "session moved".
func (s *Server) speaksFor(c *conn) bool {
	return s.sessions[c.session.id] == c.session && c.session.owner == c.front
}

// answer puts a reply into the outbox.
func (c *conn) answer(op jute.Op, p *jute.Reply) {
	if c.rq != nil {
		c.rq.Err, c.rq.Zxid, c.rq.Created, c.rq.Replied = p.Err, p.Zxid, p.Path, !c.mute
	}
	c.served(op, p.Xid, p.Zxid)
	if c.mute {
		return
	}
	p.Encode(c.out.begin(), op)
	c.out.end()
	c.sentOut()
}
