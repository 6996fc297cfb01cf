package zkserver

import (
	"cmp"

	"github.com/troupe-go/troupe/internal/jute"
)

// A leader takes a connect request for an existing session as soon as it arrives, and makes the
// server that sent it the session's owner. Other requests wait for their turn, and are compared
// with the owner only then. So a write of a connection that was lost may be carried out late,
// behind others of its session, or be refused because the session is elsewhere.

// heldBack is a request that waits at a front that is held up. It outlives its connection.
type heldBack struct {
	c  *conn
	q  jute.Request
	rq *Request
	v  Verdict
}

// mostHeldBack is how many requests wait before no more are read, as globalOutstandingLimit has it.
const mostHeldBack = 1000

// HoldUp holds back requests that need the leader, and those behind them on a connection; sessions
// are resumed all the same. heal carries out the requests that waited, in order.
func (f *Front) HoldUp() (heal func()) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.held == nil && !f.down {
		f.held = newGate()
	}
	g := f.held
	return func() {
		f.s.mu.Lock()
		defer f.s.mu.Unlock()
		if g != nil && f.held == g {
			f.held = nil
			f.letGo()
			close(g.opened)
		}
	}
}

// letGo carries out the requests that were held up, if no gate holds them any more.
func (f *Front) letGo() {
	if f.held != nil || !f.inTouch() {
		return
	}
	waiting := f.waiting
	f.waiting = nil
	for i := range waiting {
		waiting[i].carryOut()
	}
}

// carryOut serves a request. If its connection is over it is carried out only if it writes.
func (w *heldBack) carryOut() {
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

// holdsUp keeps a request for later, if the front is held up; false: it is to be served now.
func (c *conn) holdsUp(q *jute.Request, v Verdict) bool {
	if c.waiting == 0 && (c.front.held == nil || !goesToLeader(q.Op)) {
		return false
	}
	c.front.waiting = append(c.front.waiting, heldBack{c, *q, c.rq, v})
	c.waiting++
	c.rq, c.waited = nil, true
	return true
}

// full returns the gate for a request that finds too many others waiting; nil: there are not too
// many.
func (f *Front) full() *gate {
	if len(f.waiting) < mostHeldBack {
		return nil
	}
	return cmp.Or(f.held, f.isolated)
}

func goesToLeader(op jute.Op) bool { return op.Writes() || op == jute.OpSync }
