package zkserver

import (
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// handle serves one request; false ends the connection. The steps, in this order:
//
//  1. It waits until it can arrive (arrivalGate), is counted, and an interceptor decides on it.
//  2. It keeps its session alive, unless the verdict is that it never arrived, or it is refused (see
//     RequireAuth): then it waits for no leader either.
//  3. It waits for the interceptor's delay, and then until its front can serve it (serviceGate).
//  4. At a front that is held up it joins a queue (postpone, see holdup.go) and this goroutine goes
//     on; else it is carried out now.
//
// A gate stops the connection's goroutine, and so the requests behind this one; a queue does not.
func (c *conn) handle(q *jute.Request) bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if !c.await((*conn).arrivalGate) {
		return false
	}
	now := time.Now()
	c.came(now)
	c.rq = c.s.receive(c, c.session.id, q)
	v := c.s.decide(c.rq)
	refused := c.refused(q.Op)
	if v.action != dropRequest && !refused {
		c.s.keepAlive(c, now)
	}
	if !c.pause(v.delay) {
		return false
	}
	if !refused && !c.await(func(c *conn) *gate { return c.serviceGate(q.Op) }) {
		return false
	}
	return !refused && c.postpone(q, v) || c.carryOut(q, v)
}

// carryOut serves a request whose turn has come; false ends the connection.
func (c *conn) carryOut(q *jute.Request, v Verdict) bool {
	defer c.putInJournal()
	switch v.action {
	case dropRequest:
		return true
	case cutBefore:
		return false
	case failWith:
		c.answer(q.Op, &jute.Reply{Xid: q.Xid, Zxid: c.front.applied, Err: v.code})
		return true
	}
	// It is served. Without an answer: if the verdict takes that away (dropReply, cutAfter), or if
	// the request was postponed and has outlived its connection.
	c.busy, c.mute = true, v.action != pass || c.ended
	ok := c.s.dispatch(c, q)
	c.busy, c.mute = false, false
	if v.action == cutAfter {
		c.abort()
	}
	return ok
}

// putInJournal records the request that was just served.
func (c *conn) putInJournal() {
	c.s.journal.add(c.rq)
	c.rq = nil
}

// await lets a connection wait until no gate holds it: find tells which one does, nil for none. The
// caller holds the server's lock, which is let go meanwhile. It is false if the connection is over.
func (c *conn) await(find func(*conn) *gate) bool {
	for !c.ended {
		g := find(c)
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
		end := time.Now().Add(d)
		c.s.mu.Unlock()
		c.out.flush()
		rest(time.Until(end), c.done)
		c.s.mu.Lock()
	}
	return !c.ended
}

// arrivalGate is the gate that keeps a request from arriving: of a partition, or of a front that is
// stopped.
func (c *conn) arrivalGate() *gate {
	for _, x := range c.cuts {
		if x.in {
			return x.gate
		}
	}
	return c.front.frozen
}

// serviceGate is the gate that keeps a request that has arrived from being served.
func (c *conn) serviceGate(op jute.Op) *gate {
	f := c.front
	alone := op == jute.OpSync && f.deposed != nil // a deposed leader answers syncs by itself: see depose.go
	switch {
	case f.frozen != nil: // it was stopped after the request had arrived
		return f.frozen
	case f.isolated != nil && goesToLeader(op) && !alone:
		return f.isolated
	}
	return f.crowdGate()
}

// keepAlive is called for every frame of a client but those that an interceptor drops. A single
// server is its own leader; one of several tells the leader later: see expiry.go.
func (s *Server) keepAlive(c *conn, now time.Time) {
	if len(s.fronts) > 1 || c.front.isolated != nil {
		c.front.heardFrom(c.session, c.timeout)
		return
	}
	s.touch(c.session, now, c.timeout)
}

// dispatch carries out a request and answers it; false ends the connection.
func (s *Server) dispatch(c *conn, q *jute.Request) bool {
	if c.refused(q.Op) { // a real server counts it no more than a setAuth
		c.answer(jute.OpSetAuth, &jute.Reply{Xid: q.Xid, Err: jute.SessionClosedNoAuth})
		return false
	}
	switch q.Op { // what concerns the connection or its session; these answer by themselves
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
	switch {
	case q.Op == jute.OpDeleteContainer && s.dialect.noLoneReaping:
		return false // hung up on without a word
	case !known, q.Op == jute.OpCheck && s.dialect.noLoneCheck:
		c.answer(q.Op, &jute.Reply{Xid: q.Xid, Zxid: -1, Err: jute.Unimplemented})
		return false
	case q.Op.Writes() && !s.speaksFor(c):
		return false
	case goesToLeader(q.Op) && c.front.inTouch():
		c.front.answerPing() // the leader's ping was there first: see expiry.go
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

// operations are all others. Each fills in the reply; the lock is held.
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

// answer puts a reply into the outbox and into the journal's entry, or only counts it where nothing
// is to be answered.
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
