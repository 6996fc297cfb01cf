package zkconn

import (
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
)

// request is one request on its way, and what became of it. The library has no part in it: the wire
// encodes it, numbers it, and decodes its answer.
type request struct {
	ask   jute.Request
	probe bool // of life, on which trust rests: it waits for nobody
	alone bool // no other is on the way
	size  int  // of its frame's body

	wire     *wire // to which it was given; under mu
	sentAt   time.Time
	lossErr  error // what it is told if its wire is lost, nil for no more than that; under mu
	answered *notify.Latch
	reply    jute.Reply // once it is answered
}

// do makes requests, one right behind the other in one write, and returns when the last is
// answered, or none will be any more: what became of each, its outcome tells. With an error, none
// of them was sent.
func (c *Conn) do(rs ...*request) error {
	frames := encoders.Get().(*jute.Writer)
	defer func() {
		if frames.Len() <= largestKept {
			encoders.Put(frames)
		}
	}()
	frames.Reset(frames.Bytes()[:0])
	alone, probe := false, false
	for _, r := range rs {
		if !r.valid() {
			return ErrInvalidPath
		}
		frames.Begin()
		r.ask.Encode(frames)
		r.size = frames.End()
		if err := c.fits(r); err != nil {
			return err
		}
		alone, probe = alone || r.alone, probe || r.probe
		r.answered = notify.NewLatch()
	}
	w, err := c.up()
	if err != nil {
		return err
	}
	if alone || !probe {
		if !w.gate.enter(alone, w.lost, c.closed) {
			return c.refusal()
		}
		defer w.gate.leave()
	}
	if err := w.put(rs, frames.Bytes()); err != nil {
		return err
	}
	select {
	case <-rs[len(rs)-1].answered.C():
	case <-w.lost.C():
	}
	return nil
}

// encoders are kept from one request to the next, with the memory of their frames.
var encoders = sync.Pool{New: func() any { return jute.NewWriter(nil) }}

// largestKept is how much of that an encoder may keep.
const largestKept = 64 << 10

// one makes one request. With an error, the reply is an empty one.
func (c *Conn) one(r *request) (*jute.Reply, error) {
	err := c.do(r)
	if err == nil {
		err = r.outcome()
	}
	if err != nil {
		return &jute.Reply{}, err // whoever receives may be at that of the request
	}
	return &r.reply, nil
}

// up is the connection over which requests may go.
func (c *Conn) up() (*wire, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing || c.cause != nil {
		return nil, ErrEnded
	}
	if c.wire == nil {
		return nil, ErrNotSent
	}
	return c.wire, nil
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

// valid tells whether the paths of a request are such as servers accept.
func (r *request) valid() bool {
	for i := range r.ask.Ops {
		if !validPath(&r.ask.Ops[i]) {
			return false
		}
	}
	return r.ask.Op == jute.OpMulti || validPath(&r.ask)
}

func validPath(ask *jute.Request) bool {
	path := ask.Path
	switch Mode(ask.Flags) {
	case Sequential, EphemeralSequential, SequentialTTL:
		if strings.HasSuffix(path, "/") {
			path += "0" // as the server checks it: the name is a number alone
		}
	}
	return znode.Validate(path) == nil
}

// outcome is what became of a request that was sent.
func (r *request) outcome() error {
	if !r.answered.Closed() {
		return r.unanswered()
	}
	return verdict(r.reply.Err)
}

// results are those of a transaction's operations. If one failed, they come with its error.
func (r *request) results() ([]jute.Result, error) {
	if err := r.outcome(); err != nil {
		return nil, err
	}
	for _, part := range r.reply.Results {
		if part.Err != jute.OK {
			return r.reply.Results, verdict(part.Err)
		}
	}
	if len(r.reply.Results) != len(r.ask.Ops) {
		return nil, ErrNoReply // an answer that is none
	}
	return r.reply.Results, nil
}
