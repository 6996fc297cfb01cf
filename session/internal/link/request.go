package link

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
)

// request is one request on its way.
type request struct {
	op    jute.Op
	size  int // of its frame's body
	path  string
	watch bool
	alone bool // no other is on the way
	sign  bool // of life, on which trust rests: it waits for nobody
	grow  int  // not a request of anybody: it goes ahead of one for which the library's send buffer has to have this size

	line   *line     // to which it was handed; under mu
	sent   bool      // its frame was written, or begun to be; under mu
	sentAt time.Time // under mu
	fate   error     // what it is told if its line is lost, nil for no more than that; under mu
	zxid   int64     // of the answer; of the line's receiving goroutine
	code   jute.Code // likewise

	// Of one that doesn't go through the library: see converse.
	ask      jute.Request  // but for what stands above
	answered *notify.Latch // nil for the others
	reply    jute.Reply    // once it is answered
}

// ask carries out one request: call asks the library for it, when it is its turn.
func (c *Conn) ask(r *request, call func() error) error {
	if err := c.fits(r); err != nil {
		return err
	}
	l, err := c.up()
	if err != nil {
		return err
	}
	if r.alone || !r.sign {
		if !l.crowd.enter(r.alone, l.gone, c.shut) {
			return c.refusal()
		}
		defer l.crowd.leave()
	}
	select {
	case c.turn <- struct{}{}:
	case <-l.gone.C():
		return c.refusal()
	case <-c.shut.C():
		return ErrEnded
	}
	if err := c.makeRoom(l, r.size+4); err != nil {
		c.turn.pass()
		return err
	}
	if !c.hand(l, r) {
		c.turn.pass()
		return c.refusal()
	}
	err = call()
	return c.returned(r, err)
}

// up is the connection over which requests may go.
func (c *Conn) up() (*line, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing || c.cause != nil {
		return nil, ErrEnded
	}
	if c.line == nil {
		return nil, ErrNotSent
	}
	return c.line, nil
}

// refusal is the error of a request that was not sent.
func (c *Conn) refusal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing || c.cause != nil {
		return ErrEnded
	}
	return ErrNotSent
}

// hand makes r the next request that the library is to send; false if the line doesn't take it any
// more. With the turn.
func (c *Conn) hand(l *line, r *request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line != l || c.closing || c.cause != nil {
		return false
	}
	c.handing, r.line = r, l
	c.asked.Add(1)
	return true
}

// returned: the library has let go of the request.
func (c *Conn) returned(r *request, err error) error {
	defer c.asked.Done()
	c.mu.Lock()
	unsent := c.handing == r
	if unsent {
		c.handing = nil
	}
	sent, alive, unanswered := r.sent, r.line.dead == nil, r.unanswered()
	c.mu.Unlock()
	if unsent && r.grow == 0 {
		c.turn.pass()
	}
	if errors.Is(err, zk.ErrShortBuffer) && sent {
		r.line.lose(errMalformed) // the answer ended too early; who knows what else does
	}
	err = fromLibrary(err)
	switch {
	case !errors.Is(err, errNoAnswer):
		return err
	case sent:
		return unanswered
	case alive:
		return ErrBadArguments // nothing but the request itself can be the reason
	default:
		return c.refusal()
	}
}

// makeRoom lets the library's send buffer grow. Only its sending goroutine may do that, so a small
// read is sent ahead, at the sight of which it does. This costs one round trip a doubling. With the
// turn.
func (c *Conn) makeRoom(l *line, size int) error {
	if size <= c.room {
		return nil
	}
	room := c.room
	for room < size {
		room *= 2
	}
	scout := &request{op: jute.OpExists, grow: room}
	if !c.hand(l, scout) {
		return c.refusal()
	}
	_, _, err := c.zk.Exists("/")
	if err := c.returned(scout, err); errors.Is(err, ErrNoReply) || errors.Is(err, ErrNotSent) || errors.Is(err, ErrEnded) {
		return c.refusal()
	}
	c.room = room
	return nil
}

// proves tells of which requests the answer comes from the leader.
func proves(op jute.Op) bool { return op == jute.OpSync || op.Writes() }
