package zkconn

import (
	"errors"
	"slices"
	"time"
)

var errStalled = errors.New("the server has not answered for too long")

// Fractions of the session's timeout T.
const (
	stallShare  = 4  // a server that has not answered a request for T/4 is left, if something is at stake;
	hasteShare  = 8  // after T/8, …
	marginShare = 6  // … if less than T/6 would remain then to find another one
	checkShare  = 32 // how often that is checked while the server can't be left
	promptShare = 48 // a reply that took longer may have been a large one, or the server may have halted
	grainShare  = 64 // of replies that follow each other so closely, one is reported as Heard
)

// stall detects that the server does not answer, and leaves it for another one while there is time
// before the session expires. The network or all servers may just be slow; then leaving makes it
// worse. So a connection allows twice the time that replies have taken on it. A server is left only
// if there is another one that is not known to be bad, so that all of them are left no more often
// than that permits.
// Under the Conn's mu.
type stall struct {
	timer   *time.Timer // nil: not started
	set     bool
	slowest time.Duration // time that recent replies took, at most
}

// watch starts the detection, on a connection that came up. Under mu.
func (w *socket) watch() {
	w.stall.set = true
	w.stall.timer = time.AfterFunc(w.conn.session.timeout/hasteShare, w.checkStall) // does not block; lose stops the timer
}

// await queues a request that is about to be written. Under mu.
func (w *socket) await(r *request) {
	r.sentAt = time.Now()
	w.order = append(w.order, r)
	if s := &w.stall; !s.set && s.timer != nil && w.dead == nil {
		s.set = true
		s.timer.Reset(w.conn.session.timeout / hasteShare)
	}
}

// took notes how long a reply took.
func (s *stall) took(d time.Duration) {
	if d < s.slowest {
		d = s.slowest - (s.slowest-d)/8
	}
	s.slowest = d
}

// checkStall leaves the server if it must.
func (w *socket) checkStall() {
	if err := w.stalled(); err != nil {
		w.lose(err)
	}
}

func (w *socket) stalled() (err error) {
	c := w.conn
	defer guard(w.log, "check for a stall", &err)
	if w.shouldLeave(c.cfg.Stake()) {
		w.log.Warn("leaving a ZooKeeper server that does not answer")
		return errStalled
	}
	return nil
}

// shouldLeave tells whether to leave the server now. If not, and if something is not answered, it
// sets the timer for the next check.
func (w *socket) shouldLeave(left time.Duration, some bool) bool {
	c := w.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case w.dead != nil:
		return false
	case len(w.order) == 0:
		w.stall.set = false
		return false
	}
	now := time.Now()
	due := w.due(now, left)
	if some && !now.Before(due) && !c.over() && slices.ContainsFunc(c.servers, func(s *server) bool { return c.another(s, w.at, now) }) {
		return true
	}
	w.stall.timer.Reset(max(due.Sub(now), c.session.timeout/checkShare))
	return false
}

// due is when the oldest request has been without a reply for too long. Under mu.
func (w *socket) due(now time.Time, left time.Duration) time.Time {
	timeout, oldest := w.conn.session.timeout, w.order[0].sentAt
	bearable := max(timeout/stallShare, 2*w.stall.slowest)
	if left > 0 && left-oldest.Add(bearable).Sub(now) < timeout/marginShare {
		bearable = max(timeout/hasteShare, 2*w.stall.slowest)
	}
	return oldest.Add(bearable)
}

// tellsOfLife tells whether to report a reply as Heard, like the reply to a ping. Under mu.
func (w *socket) tellsOfLife(sent time.Time) bool {
	timeout := w.conn.session.timeout
	if time.Since(sent) >= timeout/promptShare || sent.Sub(w.lastHeard) < timeout/grainShare {
		return false
	}
	w.lastHeard = sent
	return true
}
