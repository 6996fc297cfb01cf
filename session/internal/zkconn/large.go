package zkconn

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// large is what is known of the size of requests at which servers hang up, as they do, without a
// word, at those above their jute.maxbuffer. A request that is larger than all that were answered,
// and at which a connection was hung up that had answered others, is suspected. After two
// suspicions of requests that were no larger, one is sent alone, lest it only stood by. After three
// it is refused without being sent; for a while only, since the network may have been to blame, and
// the limit may be raised. Connections go for other reasons too: a suspicion fades, and is dropped
// when a request as large is answered. Under the Conn's mu.
type large struct {
	answered int         // the largest that was
	suspects []suspicion // of the smallest requests, the smallest first
	until    time.Time   // when what is refused is sent again
}

type suspicion struct {
	size int
	at   time.Time
}

const (
	smallEnough = 1 << 10 // for any server
	suspicions  = 3
	refusal     = time.Minute
	faded       = 10 * refusal
)

// took notes a request that was answered.
func (g *large) took(size int) {
	g.answered = max(g.answered, size)
	g.suspects = slices.DeleteFunc(g.suspects, func(s suspicion) bool { return s.size <= size })
}

// times is how often requests were suspected that were no larger.
func (g *large) times(size int, now time.Time) (n int) {
	for _, s := range g.suspects {
		if s.size <= size && now.Sub(s.at) < faded {
			n++
		}
	}
	return n
}

// doubts: a request is to be sent alone.
func (g *large) doubts(size int, now time.Time) bool { return g.times(size, now) >= suspicions-1 }

// suspect notes a request at which the server may have hung up, and which may have been alone;
// false if its size is no reason.
func (g *large) suspect(size int, alone bool, now time.Time) bool {
	if size <= max(smallEnough, g.answered) {
		return false
	}
	if alone || !g.doubts(size, now) {
		g.suspects = slices.DeleteFunc(g.suspects, func(s suspicion) bool { return now.Sub(s.at) >= faded })
		g.suspects = append(g.suspects, suspicion{size, now})
		slices.SortFunc(g.suspects, func(a, b suspicion) int { return cmp.Or(cmp.Compare(a.size, b.size), b.at.Compare(a.at)) })
		g.suspects = g.suspects[:min(len(g.suspects), suspicions)]
	}
	if g.times(size, now) >= suspicions {
		g.until = now.Add(refusal)
	}
	return true
}

// refuses is the error of a request that is too large by all that is known.
func (g *large) refuses(size int, now time.Time) error {
	n := g.times(size, now)
	if n < suspicions || !now.Before(g.until) {
		return nil
	}
	return fmt.Errorf("%w: %d bytes; the server hung up %d times at requests of %d to %d bytes, and answered others: "+
		"compare its jute.maxbuffer with WithMaxPacket", ErrTooLarge, size, n, g.suspects[0].size, g.suspects[n-1].size)
}

// blame looks, when a wire is lost, for requests that may be why. A server that fell silent did not
// hang up at anything; one that lost an answer did so to the request of that answer alone. Under
// mu.
func (w *wire) blame(cause error) {
	c := w.conn
	if !w.replied || c.closing || c.cause != nil || errors.Is(cause, errStalled) || errors.Is(cause, os.ErrDeadlineExceeded) {
		return
	}
	if over, ok := errors.AsType[*overtaken](cause); ok {
		over.r.lossErr = c.cutOff(over.r)
		return
	}
	var largest *request
	for _, a := range w.order.waiting() {
		if r := a.r; r != nil && (largest == nil || r.size > largest.size || r.size == largest.size && r.alone) {
			largest = r
		}
	}
	large := largest != nil && c.large.suspect(largest.size, largest.alone, time.Now())
	for _, a := range w.order.waiting() {
		switch r := a.r; {
		case r == nil:
		case !large:
			r.lossErr = c.cutOff(r)
		case r.size == largest.size:
			r.lossErr = errCutOffLarge
		default:
			r.lossErr = errCutOffUsual // it only stood by, or so it seems
		}
	}
}

// cutOff is the error of a request at which the server may have hung up. Under mu.
func (c *Conn) cutOff(r *request) error {
	if c.knownOps.is(r, c.large.answered) {
		return errCutOffUsual
	}
	return errCutOff
}

// unanswered is the error of a request that was sent and got no answer. With the Conn's mu, or when
// the wire is gone, which changes nothing any more.
func (r *request) unanswered() error {
	if r.lossErr == nil {
		return ErrNoReply
	}
	return r.lossErr
}

// fits is nil for a request that is small enough to be sent: alone, if its size is suspected.
func (c *Conn) fits(r *request) error {
	if r.size > c.cfg.MaxPacket {
		return ErrTooLarge
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	r.alone = c.alone || c.large.doubts(r.size, now)
	return c.large.refuses(r.size, now)
}

// Blamed is why requests are refused that are as large as some at which servers hung up; nil if
// none are.
func (c *Conn) Blamed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.large.suspects
	if len(known) == 0 {
		return nil
	}
	return c.large.refuses(known[len(known)-1].size, time.Now())
}
