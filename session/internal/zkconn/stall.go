package zkconn

import (
	"errors"
	"time"
)

// errStalled: there may be another server that answers.
var errStalled = errors.New("the server has not answered for too long")

// Shares of the session's timeout T.
const (
	stallShare  = 4  // a server that has not answered a request for T/4 is left, where something depends on its answers;
	hasteShare  = 8  // after T/8, …
	marginShare = 6  // … if less than T/6 would remain to find another one
	checkShare  = 32 // how closely that is looked at when it can't be done
	promptShare = 48 // an answer that took longer may have been large, rather than its server halted
	grainShare  = 64 // signs of life that follow one another so closely are as good as one
)

// stall watches over the requests of a wire that are not answered. It leaves a server whose
// answers don't come for another one, while there is still time. A network, or all servers, may
// just be slow, and then leaving makes it worse. So a wire bears twice what an answer has taken on
// it; a server that was left is the last one to come back to, for longer each time, and not left
// again meanwhile; and nobody leaves the only one that is not known to be of no use. Under the
// Conn's mu.
type stall struct {
	timer   *time.Timer // nil: not begun
	set     bool
	slowest time.Duration // of the latest answers
}

// watch begins the watch over a wire that came up. Under mu.
func (w *wire) watch() {
	w.stall.set = true
	w.stall.timer = time.AfterFunc(w.conn.session.timeout/hasteShare, w.checkStall) // it ends at once; the wire's loss stops it
}

// await notes a request, or a ping if it is nil, that is being written. Under mu.
func (w *wire) await(r *request) {
	w.order.asked(r, time.Now())
	if s := &w.stall; !s.set && s.timer != nil && w.dead == nil {
		s.set = true
		s.timer.Reset(w.conn.session.timeout / hasteShare)
	}
}

// took notes how long an answer took.
func (s *stall) took(d time.Duration) {
	if d < s.slowest {
		d = s.slowest - (s.slowest-d)/8
	}
	s.slowest = d
}

// checkStall looks whether the server has to be left.
func (w *wire) checkStall() {
	c := w.conn
	defer func() {
		if reason := recover(); reason != nil {
			w.lose(c.panicked("watch for stall", reason))
		}
	}()
	var left time.Duration
	var some bool
	if c.cfg.Stake != nil {
		left, some = c.cfg.Stake()
	}
	if w.shouldLeave(left, some) {
		c.log.Warn("leaving a ZooKeeper server that does not answer", "server", w.at.server, "address", w.at.address)
		w.lose(errStalled)
	}
}

// shouldLeave tells whether to leave the server now. If not, it sees to it that there will be another
// look, where there is something to look at.
func (w *wire) shouldLeave(left time.Duration, some bool) bool {
	c := w.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case w.dead != nil:
		return false
	case len(w.order.waiting()) == 0:
		w.stall.set = false
		return false
	}
	now := time.Now()
	due := w.due(now, left)
	if some && !now.Before(due) && !c.closing && w.at.rank(now) == 0 && c.another(w.at, now) {
		return true
	}
	w.stall.timer.Reset(max(due.Sub(now), c.session.timeout/checkShare))
	return false
}

// due is when the oldest request has been unanswered for too long. Under mu.
func (w *wire) due(now time.Time, left time.Duration) time.Time {
	timeout, oldest := w.conn.session.timeout, w.order.waiting()[0].sent
	bearable := max(timeout/hasteShare, min(timeout/stallShare, now.Sub(oldest)+left-timeout/marginShare))
	if left <= 0 {
		bearable = timeout / stallShare
	}
	return oldest.Add(max(bearable, 2*w.stall.slowest))
}

// tellsOfLife: an answer is as good a sign of life as that to a ping. Under mu.
func (w *wire) tellsOfLife(sent time.Time) bool {
	timeout := w.conn.session.timeout
	if time.Since(sent) >= timeout/promptShare || sent.Sub(w.lastHeard) < timeout/grainShare {
		return false
	}
	w.lastHeard = sent
	return true
}
