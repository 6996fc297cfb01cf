package zkconn

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// blame marks the requests that are under way when a connection is lost on which others were
// answered, and that may be the reason: those that the server has just read, if it hung up; or the
// one whose reply is missing. Which of them it is, is not known here: who repeats a request counts
// how often it was marked. A server hangs up at a request when it reads it. One that has waited for
// longer than replies take was lost for another reason, as with a server that has lost its leader.
// Under mu.
func (w *socket) blame(cause error) {
	if !w.replied || w.conn.over() {
		return
	}
	missing, overtaken := errors.AsType[*overtakenError](cause)
	prompt := max(2*w.stall.slowest, w.conn.session.timeout/hasteShare)
	for _, r := range w.order {
		r.cutOff = overtaken && r == missing.r || hungUp(cause) && time.Since(r.sentAt) <= prompt
	}
}

// sizes is what is known of the size of requests at which servers hang up: ZooKeeper does so,
// without a reply, at a request above its jute.maxbuffer. The smallest size that lost three
// connections in ten minutes is refused for a minute: then the limit may have been raised, or the
// network may have been the reason. Under the Conn's mu.
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

// took notes a request that was answered.
func (s *sizes) took(size int) {
	s.answered = max(s.answered, size)
	s.suspects = slices.DeleteFunc(s.suspects, func(o suspicion) bool { return o.size <= size })
}

// Suspect notes that a request of this size, which is not repeated, failed with [ErrCutOff]. Of
// those that were lost with one connection only the largest counts.
func (c *Conn) Suspect(size int, connection uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, now := &c.sizes, time.Now()
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
