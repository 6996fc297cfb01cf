package zkconn

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

var errStalled = errors.New("the server has not answered for too long")

// Fractions of the session's timeout T.
const (
	stallShare  = 4  // a server that has not answered a request for T/4 is left, if something is at stake;
	hasteShare  = 8  // after T/8, …
	marginShare = 6  // … if less than T/6 would remain then to find another one
	checkShare  = 32 // that is checked again each T/32 while the server can't be left
	promptShare = 48 // a reply that took longer may have been a large one, or the server may have halted
	grainShare  = 64 // of the replies within T/64, one is reported as Heard
)

// lose gives the connection up, once. Frames that it still receives are ignored, so that no event
// of it follows the Down.
func (w *socket) lose(cause error) {
	c := w.conn
	var first, nothing, down, left bool
	var brief int
	c.update(func() {
		if first = w.dead == nil; !first {
			return
		}
		w.blame(cause)
		left = w.leaves() && c.life.Err() == nil
		for _, r := range w.order {
			if !r.isPing() {
				c.cfg.Counts.over(r, time.Since(r.sentAt), true)
			}
		}
		w.dead, w.order = cause, nil
		if w.check != nil {
			w.check.Stop()
		}
		c.socket = nil
		w.rate(cause)
		if w.up() {
			w.refuse()
			c.tries = w.triesAfter(c.tries)
			brief = c.brief
			if c.outage.since.IsZero() {
				c.outage.since = time.Now()
			}
			down = c.life.Err() == nil
			c.events = append(c.events, Down{Cause: cause})
		}
		nothing = c.nothing()
	})
	if !first {
		return
	}
	w.lost.Close()
	if left {
		w.link.drop()
	} else {
		w.link.hangUp()
	}
	switch {
	case !down || errors.Is(cause, ErrAuthRequired):
		c.warnDown(w.at, cause)
	case brief < 2 && errors.Is(cause, errMalformed):
		w.link.log.Warn("what answers is no ZooKeeper server, or a wrong one", "cause", cause)
	case brief == 3:
		w.link.log.Warn("connections to ZooKeeper are lost soon after they are made; pausing between attempts", "cause", cause)
	default:
		w.link.log.Debug("connection to ZooKeeper lost", "cause", cause)
	}
	if nothing {
		c.end(errClosed)
	}
}

// up tells whether the connection came up. Under mu.
func (w *socket) up() bool { return !w.since.IsZero() }

// lasted tells whether the connection was up for as long as a server has for a step of the
// handshake. Under mu.
func (w *socket) lasted() bool { return w.up() && time.Since(w.since) >= w.limit }

// rate records what the loss of a connection says about its server. The other servers are tried
// first, since this one may have been stopped. A server that accepts sessions and drops them at
// once, or does not answer, counts as one that refuses them. Under mu.
func (w *socket) rate(cause error) {
	w.conn.lost = w.at
	if !w.replied && !w.lasted() || w.up() && (errors.Is(cause, errStalled) || timedOut(cause)) {
		w.at.failed(time.Now(), w.conn.session.timeout)
	}
}

// triesAfter is the count of tries after a connection that was up; the pause before the next try
// depends on it. A connection that lasted is replaced at once. One on which a request was answered
// is replaced after the shortest pause, and pauses grow from the third in a row on: a request at
// which servers hang up must not cause a storm of connections. Any other connection counts as a
// failure.
func (w *socket) triesAfter(tries int) int {
	w.conn.brief++
	switch all := w.conn.addresses(); {
	case errors.Is(w.dead, ErrAuthRequired):
		return tries
	case w.lasted():
		w.conn.brief = 0
		return 0
	case w.replied:
		return max(min(tries, all), min(w.conn.brief-2, 4)*all)
	default:
		return tries
	}
}

// detectStalls starts the detection of stalls, on a connection that came up. A server that does not
// answer is left for another one while there is time before the session expires. The network or all
// servers may just be slow; then leaving makes it worse. So a connection allows twice the time that
// replies have taken on it, and a server is left only if there is another one that is not known to
// be bad: that bounds how often they are left. Under mu.
func (w *socket) detectStalls() {
	w.checking = true
	w.check = time.AfterFunc(w.conn.session.timeout/hasteShare, w.checkStall) // does not block; lose stops the timer
}

// took takes in how long a reply took. Under mu.
func (w *socket) took(d time.Duration) {
	if d < w.slowest {
		d = w.slowest - (w.slowest-d)/8
	}
	w.slowest = d
}

func (w *socket) checkStall() {
	if err := w.stalled(); err != nil {
		w.lose(err)
	}
}

func (w *socket) stalled() (err error) {
	c := w.conn
	defer guard(w.link.log, "check for a stall", &err)
	if w.shouldLeave(c.cfg.Stake()) {
		w.link.log.Warn("leaving a ZooKeeper server that does not answer")
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
		w.checking = false
		return false
	}
	now := time.Now()
	due := w.due(now, left)
	if some && !now.Before(due) && !c.over() && slices.ContainsFunc(c.servers, func(s *server) bool { return c.hasGood(s, w.at, now) }) {
		return true
	}
	w.check.Reset(max(due.Sub(now), c.session.timeout/checkShare))
	return false
}

// due is when the oldest request has been without a reply for too long. Under mu.
func (w *socket) due(now time.Time, left time.Duration) time.Time {
	timeout, oldest := w.conn.session.timeout, w.order[0].sentAt
	bearable := max(timeout/stallShare, 2*w.slowest)
	if left > 0 && left-oldest.Add(bearable).Sub(now) < timeout/marginShare {
		bearable = max(timeout/hasteShare, 2*w.slowest)
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

// blame marks the requests that may be the reason for the loss of a connection on which others were
// answered: those that the server has just read, if it hung up, or the one whose reply is missing.
// It is not known which of them was the reason; the caller that repeats a request counts how often
// it was marked. A server hangs up at a request when it reads it. So a request that has waited for
// longer than replies take was lost for another reason, such as a server that has lost its leader.
// Under mu.
func (w *socket) blame(cause error) {
	if !w.replied || w.conn.over() {
		return
	}
	missing, overtaken := errors.AsType[*overtakenError](cause)
	prompt := max(2*w.slowest, w.conn.session.timeout/hasteShare)
	for _, r := range w.order {
		r.cutOff = overtaken && r == missing.r || hungUp(cause) && time.Since(r.sentAt) <= prompt
	}
}

// sizes records the sizes of requests at which servers hang up: ZooKeeper does so, without a reply,
// at a request above its jute.maxbuffer. The smallest size that lost three connections in ten
// minutes is refused for a minute; by then the limit may have been raised, or the network may have
// been the reason. Under the Conn's mu.
type sizes struct {
	answered int         // size of the largest request that was
	suspects []suspicion // of the smallest requests, the smallest first; three at most
	until    time.Time   // end of the refusal
}

// suspicion is a request that was lost with a connection.
type suspicion struct {
	size       int
	connection uint64
	at         time.Time
}

const (
	smallEnough = 1 << 10 // for any server
	suspicions  = 3
	refusal     = time.Minute
	faded       = 10 * refusal
)

// took takes in the size of a request that was answered.
func (s *sizes) took(size int) {
	s.answered = max(s.answered, size)
	s.suspects = slices.DeleteFunc(s.suspects, func(o suspicion) bool { return o.size <= size })
}

// Suspect records that a request of this size, which is not repeated, failed with [ErrCutOff]. Of
// the requests that were lost with one connection only the largest counts.
func (c *Conn) Suspect(size int, connection uint64) {
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	s, now := &c.core.sizes, time.Now()
	if size <= max(smallEnough, s.answered) {
		return
	}
	for _, o := range s.suspects {
		if o.connection == connection {
			size = max(size, o.size)
		}
	}
	s.suspects = slices.DeleteFunc(s.suspects, func(o suspicion) bool { return o.connection == connection || now.Sub(o.at) >= faded })
	s.suspects = append(s.suspects, suspicion{size, connection, now})
	slices.SortStableFunc(s.suspects, func(a, b suspicion) int { return cmp.Or(cmp.Compare(a.size, b.size), b.at.Compare(a.at)) })
	if len(s.suspects) >= suspicions {
		s.suspects, s.until = s.suspects[:suspicions], now.Add(refusal)
	}
}

// refuses returns the error of a request that is taken to be too large, or nil.
func (s *sizes) refuses(size int) error {
	if len(s.suspects) < suspicions || size < s.suspects[suspicions-1].size || !time.Now().Before(s.until) {
		return nil
	}
	return fmt.Errorf("%w: %d bytes; the server hung up three times at requests of %d to %d bytes, and answered others: "+
		"compare its jute.maxbuffer with WithMaxPacket", ErrTooLarge, size, s.suspects[0].size, s.suspects[suspicions-1].size)
}
