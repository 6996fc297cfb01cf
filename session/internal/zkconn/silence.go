package zkconn

import (
	"errors"
	"time"
)

// errSilent: there may be another server that answers.
var errSilent = errors.New("the server has not answered for too long")

// Shares of the session's timeout T.
const (
	silenceShare = 4  // a server that has not answered a request for T/4 is left, where something depends on its answers;
	hasteShare   = 8  // after T/8, …
	marginShare  = 6  // … if less than T/6 would remain to find another one
	glanceShare  = 32 // how closely that is looked at when it can't be done
	promptShare  = 48 // an answer that took longer may have been large, rather than its server halted
	grainShare   = 64 // signs of life that follow one another so closely are as good as one
)

// silence watches over the requests of a line that are not answered. It leaves a server whose
// answers don't come for another one, while there is still time. A network, or all servers, may
// just be slow, and then leaving makes it worse. So a line bears twice what an answer has taken on
// it; a server that was left is the last one to come back to, for longer each time, and not left
// again meanwhile; and nobody leaves the only one that is not known to be of no use. Under the
// Conn's mu.
type silence struct {
	timer   *time.Timer // nil: not begun
	set     bool
	slowest time.Duration // of the latest answers
}

// watch begins the watch over a line that came up. Under mu.
func (l *line) watch() {
	l.silence.set = true
	l.silence.timer = time.AfterFunc(l.conn.session.timeout/hasteShare, l.glance) // it ends at once; the line's loss stops it
}

// await notes a request, or a ping if it is nil, that is being written. Under mu.
func (l *line) await(r *request) {
	l.order.asked(r, time.Now())
	if s := &l.silence; !s.set && s.timer != nil && l.dead == nil {
		s.set = true
		s.timer.Reset(l.conn.session.timeout / hasteShare)
	}
}

// heard notes how long the answer took that has come. Under mu.
func (l *line) heard() {
	if waiting := l.order.waiting(); len(waiting) > 0 {
		l.silence.took(time.Since(waiting[0].sent))
	}
}

// took notes how long an answer took.
func (s *silence) took(d time.Duration) {
	if d < s.slowest {
		d = s.slowest - (s.slowest-d)/8
	}
	s.slowest = d
}

// glance looks whether the server has to be left.
func (l *line) glance() {
	c := l.conn
	defer func() {
		if reason := recover(); reason != nil {
			l.lose(c.panicked("watch for silence", reason))
		}
	}()
	var left time.Duration
	var some bool
	if c.cfg.Stake != nil {
		left, some = c.cfg.Stake()
	}
	if l.hopeless(left, some) {
		c.log.Warn("leaving a ZooKeeper server that does not answer", "server", l.at.server, "address", l.at.address)
		l.lose(errSilent)
	}
}

// hopeless tells whether to leave the server now. If not, it sees to it that there will be another
// look, where there is something to look at.
func (l *line) hopeless(left time.Duration, some bool) bool {
	c := l.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case l.dead != nil:
		return false
	case len(l.order.waiting()) == 0:
		l.silence.set = false
		return false
	}
	now := time.Now()
	due := l.due(now, left)
	if some && !now.Before(due) && !c.closing && l.at.rank(now) == 0 && c.another(l.at, now) {
		return true
	}
	l.silence.timer.Reset(max(due.Sub(now), c.session.timeout/glanceShare))
	return false
}

// due is when the oldest request has been unanswered for too long. Under mu.
func (l *line) due(now time.Time, left time.Duration) time.Time {
	timeout, oldest := l.conn.session.timeout, l.order.waiting()[0].sent
	bearable := max(timeout/hasteShare, min(timeout/silenceShare, now.Sub(oldest)+left-timeout/marginShare))
	if left <= 0 {
		bearable = timeout / silenceShare
	}
	return oldest.Add(max(bearable, 2*l.silence.slowest))
}

// tellsOfLife: an answer is as good a sign of life as that to a ping. Under mu.
func (l *line) tellsOfLife(sent time.Time) bool {
	timeout := l.conn.session.timeout
	if time.Since(sent) >= timeout/promptShare || sent.Sub(l.lively) < timeout/grainShare {
		return false
	}
	l.lively = sent
	return true
}
