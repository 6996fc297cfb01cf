package zkconn

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// large is what is known about the size of requests at which servers hang up. ZooKeeper hangs up
// without a reply at a request above its jute.maxbuffer. So a request is suspected if it is larger
// than all that were answered, and the connection was lost that had answered others. After two
// suspicions of requests that were no larger, one is sent alone: the reason may have been another.
// After three it is refused without being sent. Connections are lost for other reasons too, and the
// limit may be raised: the refusal lasts for a while, a suspicion fades, and it is dropped when a
// request as large is answered. Under the Conn's mu.
type large struct {
	answered int         // size of the largest request that was
	suspects []suspicion // of the smallest requests, the smallest first
	until    time.Time   // end of the refusal
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

// times is how often requests that were no larger were suspected.
func (g *large) times(size int, now time.Time) (n int) {
	for _, s := range g.suspects {
		if s.size <= size && now.Sub(s.at) < faded {
			n++
		}
	}
	return n
}

// doubts tells whether a request has to be sent alone.
func (g *large) doubts(size int, now time.Time) bool { return g.times(size, now) >= suspicions-1 }

// suspect notes the largest request that was under way when the server hung up. It returns false if
// its size is no reason for that.
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

// refuses returns the error of a request that is taken to be too large, or nil.
func (g *large) refuses(size int, now time.Time) error {
	n := g.times(size, now)
	if n < suspicions || !now.Before(g.until) {
		return nil
	}
	return fmt.Errorf("%w: %d bytes; the server hung up %d times at requests of %d to %d bytes, and answered others: "+
		"compare its jute.maxbuffer with WithMaxPacket", ErrTooLarge, size, n, g.suspects[0].size, g.suspects[n-1].size)
}

// blame sets the errors of the requests that are under way when a connection is lost. If the server
// hung up, one of those that it has just read may be the reason. If a reply is missing, its request
// may be. Under mu.
func (w *socket) blame(cause error) {
	c := w.conn
	if !w.replied || c.over() {
		return
	}
	if missing, ok := errors.AsType[*overtakenError](cause); ok {
		missing.r.lossErr = w.cutOff(missing.r)
		return
	}
	if !hungUp(cause) {
		return
	}
	now := time.Now()
	read := w.justRead(now)
	var largest *request
	for _, r := range read {
		if !r.several && (largest == nil || r.size > largest.size || r.size == largest.size && r.alone) {
			largest = r
		}
	}
	large := largest != nil && c.large.suspect(largest.size, largest.alone, now)
	for _, r := range read {
		switch {
		case !large:
			r.lossErr = w.cutOff(r)
		case r.size == largest.size:
			r.lossErr = errCutOffLarge
		default:
			r.lossErr = errCutOffUsual
		}
	}
}

// justRead are the requests that the server may have read right before now. It hangs up at a
// request when it reads it. One that has waited for longer than replies take was lost for another
// reason, as with a server that has lost its leader. Under mu.
func (w *socket) justRead(now time.Time) []*request {
	prompt := max(2*w.stall.slowest, w.conn.session.timeout/hasteShare)
	first := slices.IndexFunc(w.order, func(r *request) bool { return now.Sub(r.sentAt) <= prompt })
	if first < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.order[first:]), (*request).isPing)
}

// cutOff is the error of a request at which the server may have hung up. Under mu.
func (w *socket) cutOff(r *request) error {
	c := w.conn
	if (r.several || r.size <= max(smallEnough, c.large.answered)) && c.operations.has(r) {
		return errCutOffUsual
	}
	return errCutOff
}

// unanswered is the error of a request that was sent and got no reply. With the Conn's mu, or when
// the connection is lost: then it is final.
func (r *request) unanswered() error {
	if r.lossErr == nil {
		return ErrNoReply
	}
	return r.lossErr
}
