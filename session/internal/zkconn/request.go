package zkconn

import (
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
)

// request is one request and its outcome. It is sent once: to repeat it, make a new one.
type request struct {
	ask   jute.Request
	probe bool         // trust depends on its reply: it does not wait for a request that is alone
	alone bool         // no other request may be under way
	size  int          // of its frame, without the length
	as    []Credential // for the text of a refusal

	// holds tells, under mu, whether the condition for sending it holds; nil: there is none.
	holds func() bool
	// told is called in wire order with the events; nil: nobody is.
	told func()

	sentAt    time.Time
	overtaken int          // replies to pings that were sent later, and came before its own. Under mu
	cutOff    bool         // it may be the reason that the connection was lost. Under mu
	answered  notify.Latch // closes when reply is set
	reply     jute.Reply
}

// do sends requests in one write, and waits until the last one is answered or the connection is
// lost; then each has its outcome. An error means that none was sent.
func (c *Conn) do(rs ...*request) error {
	frames := encoder()
	for _, r := range rs {
		if !r.valid() {
			return ErrInvalidPath
		}
		r.as = c.core.cfg.Auth
		frames.Begin()
		r.ask.Encode(frames)
		if r.size = frames.End(); r.size > c.core.cfg.MaxPacket {
			return ErrTooLarge
		}
	}
	w, err := c.admit(rs)
	if err != nil {
		return err
	}
	err = w.put(rs, frames.Bytes())
	if !w.lost.Closed() { // else a write that has not returned may have them
		release(frames)
	}
	if err != nil {
		return err
	}
	select {
	case <-rs[len(rs)-1].answered.C():
	case <-w.lost.C():
	}
	return nil
}

// encoders keep the memory of frames from one request to the next.
var encoders = sync.Pool{New: func() any { return jute.NewWriter(nil) }}

// largestKept is how much memory an encoder may keep.
const largestKept = 64 << 10

func encoder() *jute.Writer {
	w := encoders.Get().(*jute.Writer)
	w.Reset(w.Bytes()[:0])
	return w
}

func release(w *jute.Writer) {
	if w.Len() <= largestKept {
		encoders.Put(w)
	}
}

// one sends one request. With an error, the reply is an empty one.
func (c *Conn) one(r *request) (*jute.Reply, error) {
	err := c.do(r)
	if err == nil {
		err = r.outcome()
	}
	if err != nil {
		return &jute.Reply{}, err // the receive loop may still be writing to r.reply
	}
	return &r.reply, nil
}

// admit returns the connection, if it takes requests and these are not taken to be too large. It
// marks those that have to be sent alone.
func (c *Conn) admit(rs []*request) (*socket, error) {
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	for _, r := range rs {
		r.alone = c.alone
		if err := c.core.sizes.refuses(r.size); err != nil {
			return nil, err
		}
	}
	return c.core.socket, c.core.takes(c.core.socket)
}

// takes returns the error of a request that can't be sent over a connection; nil if it can. Under
// mu.
func (c *core) takes(w *socket) error {
	switch {
	case c.over():
		return ErrEnded
	case w == nil || w != c.socket || !w.up():
		return ErrNotSent
	}
	return nil
}

// refusal is the error of a request that was not sent, since the connection was lost or closed.
func (w *socket) refusal() error {
	w.conn.mu.Lock()
	defer w.conn.mu.Unlock()
	return w.conn.takes(w)
}

// valid tells whether servers accept the paths of a request.
func (r *request) valid() bool {
	for i := range r.ask.Ops {
		if !validPath(&r.ask.Ops[i]) {
			return false
		}
	}
	return len(r.ask.Ops) > 0 || r.ask.Op == jute.OpSetWatches || validPath(&r.ask)
}

func validPath(ask *jute.Request) bool {
	path := ask.Path
	switch ask.Flags {
	case jute.FlagSequential, jute.FlagEphemeralSequential, jute.FlagPersistentSequentialTTL:
		if strings.HasSuffix(path, "/") {
			path += "0" // the server checks the path with a number appended
		}
	}
	return znode.Validate(path) == nil
}

// misnamed tells whether a new znode has another name than was asked for.
func misnamed(ask *jute.Request, path string) bool {
	switch ask.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return ask.Flags&jute.FlagSequential == 0 && path != ask.Path || ask.Flags&jute.FlagSequential != 0 && !znode.Numbered(ask.Path, path)
	}
	return false
}

func (r *request) outcome() error {
	if !r.answered.Closed() {
		if r.cutOff {
			return ErrCutOff
		}
		return ErrNoReply
	}
	return r.verdict(&r.ask, r.reply.Err)
}

// results are those of a transaction's operations. If one of them failed, its error comes with
// them.
func (r *request) results() ([]jute.Result, error) {
	if err := r.outcome(); err != nil {
		return nil, err
	}
	for i, part := range r.reply.Results {
		if part.Err != jute.OK && i < len(r.ask.Ops) {
			return r.reply.Results, r.verdict(&r.ask.Ops[i], part.Err)
		}
	}
	if len(r.reply.Results) != len(r.ask.Ops) {
		return nil, ErrNoReply // no such reply is possible
	}
	return r.reply.Results, nil
}
