package link

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// large is what is known of the size of requests at which servers hang up, as they do, without a word, at those above their jute.maxbuffer. A request that is
// larger than all that were answered, and at which a connection was hung up that had answered others, is suspected. After two in a row what is as large is sent
// alone, lest it only stood by. After three it is refused without being sent; for a while only, since the network may have been to blame. Under the Conn's mu.
type large struct {
	answered int       // the largest that was
	suspect  int       // the smallest that was suspected; 0: none
	times    int       // how often one was
	until    time.Time // when what is as large is sent again
}

const (
	smallEnough = 1 << 10 // for any server
	suspicions  = 3
	refusal     = time.Minute
)

// took notes a request that was answered.
func (g *large) took(size int) {
	g.answered = max(g.answered, size)
	if g.suspect > 0 && size >= g.suspect {
		g.suspect, g.times, g.until = 0, 0, time.Time{}
	}
}

// doubts: a request is to be sent alone.
func (g *large) doubts(size int) bool {
	return g.suspect > 0 && size >= g.suspect && g.times >= suspicions-1
}

// suspects notes a request at which the server may have hung up, and which may have been alone; false if its size is no reason.
func (g *large) suspects(size int, alone bool, now time.Time) bool {
	if size <= max(smallEnough, g.answered) {
		return false
	}
	if g.suspect == 0 || size < g.suspect {
		g.suspect = size
	}
	if alone || g.times < suspicions-1 {
		g.times++
	}
	if g.times >= suspicions {
		g.until = now.Add(refusal)
	}
	return true
}

// refuses is the error of a request that is too large by all that is known.
func (g *large) refuses(size int, now time.Time) error {
	if g.suspect == 0 || size < g.suspect || !now.Before(g.until) {
		return nil
	}
	return fmt.Errorf("%w: %d bytes; the server hung up %d times at requests of %d bytes and more, and answered others: "+
		"compare its jute.maxbuffer with WithMaxPacket", ErrTooLarge, size, g.times, g.suspect)
}

// blame looks, when a line is lost, for a request that may be why. A server that fell silent, or that lost an answer, did not
// hang up at anything. Under mu.
func (l *line) blame(cause error) {
	c := l.conn
	own := errors.Is(cause, errSilent) || errors.Is(cause, errOvertaken) || errors.Is(cause, os.ErrDeadlineExceeded)
	if !l.useful || c.closing || c.cause != nil || own {
		return
	}
	largest, alone := 0, false
	for _, r := range l.pending {
		largest, alone = max(largest, r.size), alone || r.alone
	}
	l.cutOff = true
	if c.large.suspects(largest, alone, time.Now()) {
		l.blamed = largest
	}
}

// unanswered is the error of a request that was sent and got no answer. Where the size of another one is the likely reason, this one only stood by. With the
// Conn's mu, or when the line is gone, which changes nothing any more.
func (r *request) unanswered() error {
	switch l := r.line; {
	case !l.cutOff || r.size < l.blamed:
		return ErrNoReply
	case l.blamed > 0:
		return errCutOffLarge
	case l.conn.usual.is(r, l.conn.large.answered):
		return errCutOffUsual
	default:
		return errCutOff
	}
}

// fits is nil for a request that is small enough to be sent: alone, if its size is suspected.
func (c *Conn) fits(r *request) error {
	if r.size > c.cfg.MaxPacket {
		return ErrTooLarge
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.alone = c.alone || c.large.doubts(r.size)
	return c.large.refuses(r.size, time.Now())
}

// Blamed is why requests are refused that are as large as some at which servers hung up; nil if none are.
func (c *Conn) Blamed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.large.refuses(c.large.suspect, time.Now())
}
