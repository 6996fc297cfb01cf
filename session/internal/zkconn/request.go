package zkconn

import (
	"encoding/binary"
	"fmt"
	"slices"
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
	probe bool // trust depends on its reply: it waits for none that is alone
	alone bool // no other request may be under way
	size  int  // of its frame, without the length
	as    []Credential

	// stands tells, under mu, whether it may still be sent; nil: it may.
	stands func() bool

	sentAt    time.Time
	overtaken int          // replies to pings that were sent later, and came before its own. Under mu
	cutOff    bool         // it may be the reason that the connection was lost. Under mu
	answered  notify.Latch // closes when reply is set
	reply     jute.Reply
}

// do sends requests in one write, and waits until the last one is answered or the connection is
// lost. Then each has its outcome. With an error, none was sent.
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
	return len(r.ask.Ops) > 0 || validPath(&r.ask)
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

// misnamed tells whether what was created has another name than was asked for.
func misnamed(ask *jute.Request, path string) bool {
	switch ask.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return ask.Flags&jute.FlagSequential == 0 && path != ask.Path || ask.Flags&jute.FlagSequential != 0 && !znode.Numbered(ask.Path, path)
	}
	return false
}

// outcome is the error of a request that was sent.
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

func (w *socket) ping() (err error) {
	defer guard(w.link.log, "ping", &err)
	w.writing <- struct{}{}
	defer w.written()
	r := newPing()
	w.conn.mu.Lock()
	w.await(r)
	w.conn.mu.Unlock()
	return w.transmit(encode(&r.ask))
}

// put sends requests, or refuses them, when those are answered that go before. Their frames are
// complete but for the xids. If the write fails the connection is lost, and the requests get no
// reply.
func (w *socket) put(rs []*request, frames []byte) error {
	for {
		select {
		case w.writing <- struct{}{}:
		case <-w.taking.Done():
			return w.refusal()
		}
		before, err := w.number(rs, frames)
		if before == nil && err == nil {
			_ = w.transmit(frames)
		}
		w.written()
		if before == nil {
			return err
		}
		select {
		case <-before.answered.C():
		case <-w.taking.Done():
		}
	}
}

// before returns a request whose answer has to come before these are sent; nil if they may be. One
// that is to be alone waits for all others, and they for it from then on: they do not overtake it.
// But nothing that trust depends on waits for one that is alone; nor does that for those, which may
// come without end. Under mu.
func (w *socket) before(rs []*request) *request {
	last := rs[len(rs)-1]
	switch waits := last.alone || !last.probe; {
	case w.alone != nil && w.alone != last && !w.alone.answered.Closed():
		if waits {
			return w.alone
		}
	case last.alone:
		w.alone = last
		for _, r := range slices.Backward(w.order) {
			if !r.isPing() && !r.probe {
				return r
			}
		}
	}
	return nil
}

// number gives each request the next xid, also in its frame, and queues it for its reply; or
// returns one that goes before. It fails if the connection takes no requests any more, or one of
// them is called off. With the semaphore, so that the queue has the order of the frames.
//
// The numbers go on from connection to connection. A server tells its own clients' transactions
// from others' by session and xid: one that was sent on the connection before, through another
// server, would be taken for a later one of the same number.
func (w *socket) number(rs []*request, frames []byte) (before *request, err error) {
	c := w.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.takes(w); err != nil {
		return nil, err
	}
	if before := w.before(rs); before != nil {
		return before, nil
	}
	if slices.ContainsFunc(rs, func(r *request) bool { return r.stands != nil && !r.stands() }) {
		if w.alone == rs[len(rs)-1] {
			w.alone.answered.Close() // nobody waits for it any more
		}
		return nil, ErrCalledOff
	}
	s := &c.session
	for _, r := range rs {
		s.xid = max(s.xid+1, 1) // it wraps
		r.ask.Xid = s.xid
		binary.BigEndian.PutUint32(frames[4:], uint32(s.xid))
		frames = frames[4+r.size:]
		w.await(r)
		if r.ask.Op == jute.OpRemoveWatches {
			delete(c.watches, Watch{r.ask.Path, r.ask.Kind == childWatches}) // whatever the outcome, it is not armed again
		}
	}
	return nil, nil
}

// send sends a frame that gets no reply that is waited for.
func (w *socket) send(frame []byte) error {
	w.writing <- struct{}{}
	defer w.written()
	return w.transmit(frame)
}

// written lets the next one write.
func (w *socket) written() { <-w.writing }

// transmit writes to the network. If that fails, the connection is lost before the semaphore is
// released: those that wait for it then know that they have sent nothing. With the semaphore.
func (w *socket) transmit(frames []byte) error {
	err := w.link.write(frames)
	if err != nil {
		w.lose(err)
	}
	return err
}

// overtakenError is the loss of the reply to the request r.
type overtakenError struct {
	r  *request
	by string
}

func (e *overtakenError) Error() string {
	return fmt.Sprintf("an answer was overtaken: it is lost: xid %d by %s", e.r.ask.Xid, e.by)
}

// maxOvertaken is how many replies to pings may come before that to an older request. ZooKeeper
// replies to all in order; other servers may reply to pings at once.
const maxOvertaken = 2

// queue holds the requests that are not answered on a connection, pings included, in the order of
// sending. Servers reply in that order. If a later reply comes first, the earlier one is lost, and
// nobody would ever know the outcome of its request: the connection is given up.
type queue []*request

// answered removes the request of a reply. It must be the oldest one; replies to older pings may be
// missing.
func (q *queue) answered(xid int32) (*request, error) {
	i := slices.IndexFunc(*q, func(r *request) bool { return r.ask.Xid == xid })
	if i < 0 {
		return nil, fmt.Errorf("%w: an answer to nothing, xid %d", errMalformed, xid)
	}
	for _, earlier := range (*q)[:i] {
		if !earlier.isPing() {
			return nil, &overtakenError{earlier, fmt.Sprint(xid)}
		}
	}
	r := (*q)[i]
	*q = slices.Delete(*q, 0, i+1)
	return r, nil
}

// ponged removes the oldest ping, and returns when it was sent: the zero time if there is none.
func (q *queue) ponged() (sent time.Time, err error) {
	i := slices.IndexFunc(*q, (*request).isPing)
	if i < 0 {
		return time.Time{}, nil
	}
	sent = (*q)[i].sentAt
	*q = slices.Delete(*q, i, i+1)
	if i == 0 {
		return sent, nil
	}
	first := (*q)[0]
	if first.overtaken++; first.overtaken >= maxOvertaken {
		return sent, &overtakenError{first, "pings"}
	}
	return sent, nil
}

func newPing() *request {
	return &request{ask: jute.Request{Xid: jute.XidPing, Op: jute.OpPing}}
}

func (r *request) isPing() bool { return r.ask.Op == jute.OpPing }
