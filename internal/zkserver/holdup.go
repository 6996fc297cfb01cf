package zkserver

import (
	"cmp"

	"github.com/troupe-go/troupe/internal/jute"
)

// A leader takes a connect request for an existing session as soon as it arrives, and makes the
// server that sent it the session's owner. Other requests wait for their turn, and are compared
// with the owner only then. So a write of a connection that was lost may be carried out late,
// behind others of its session, or be refused because the session is elsewhere.

// postponed is a request that waits in the queue of a front that is held up. It outlives its
// connection.
type postponed struct {
	c  *conn
	q  jute.Request
	rq *Request // conn.rq
	v  Verdict
}

// mostPostponed is how many requests wait before no more are read: ZooKeeper's default of
// globalOutstandingLimit.
const mostPostponed = 1000

// HoldUp holds back requests that need the leader, and those behind them on a connection; sessions
// are resumed all the same. heal carries out the requests that waited, in order.
func (f *Front) HoldUp() (heal func()) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.heldUp == nil && !f.down {
		f.heldUp = newGate()
	}
	g := f.heldUp
	return func() {
		f.s.mu.Lock()
		defer f.s.mu.Unlock()
		if g != nil && f.heldUp == g {
			f.heldUp = nil
			f.serveWaiting()
			close(g.opened)
		}
	}
}

// serveWaiting carries out the requests in the queue, if nothing holds them any more.
func (f *Front) serveWaiting() {
	if f.heldUp != nil || !f.inTouch() {
		return
	}
	waiting := f.waiting
	f.waiting = nil
	for i := range waiting {
		waiting[i].carryOut()
	}
}

// carryOut serves a request. If its connection is over it is carried out only if it writes.
func (w *postponed) carryOut() {
	c := w.c
	c.waiting--
	if c.ended && !w.q.Op.Writes() {
		return
	}
	c.rq = w.rq
	if !c.carryOut(&w.q, w.v) {
		c.finish()
	}
	c.kick()
}

// postpone puts a request into the front's queue, if the front is held up and the request needs the
// leader, or if an earlier one of this connection waits there; false: it is to be served now.
func (c *conn) postpone(q *jute.Request, v Verdict) bool {
	needsIt := c.front.heldUp != nil && goesToLeader(q.Op)
	if !needsIt && c.waiting == 0 {
		return false
	}
	c.front.waiting = append(c.front.waiting, postponed{c, *q, c.rq, v})
	c.waiting++
	c.rq, c.waited = nil, true
	return true
}

// crowdGate is the gate for a request that finds too many others in the queue; nil: there are not
// too many. They wait since the front is held up, or since it was isolated when that ended.
func (f *Front) crowdGate() *gate {
	if len(f.waiting) < mostPostponed {
		return nil
	}
	return cmp.Or(f.heldUp, f.isolated)
}

func goesToLeader(op jute.Op) bool { return op.Writes() || op == jute.OpSync }
