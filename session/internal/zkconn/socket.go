package zkconn

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
)

// Why a connection is given up here, rather than by the network.
var (
	errMalformed    = errors.New("the server sent a malformed frame")
	errCloseTimeout = errors.New("the server did not confirm the end of the session in time")
	errNotAccepted  = errors.New("the server did not accept the session")
)

const (
	xidClose int32 = -11 // of closeSession; the server echoes it

	passwordLength = 16
	headerLength   = 16 // of a reply: xid, zxid, error
)

// socket is one connection to one server.
type socket struct {
	link  *link
	conn  *core
	at    *target
	limit time.Duration // of each step of the handshake
	lost  notify.Latch  // closes when the connection is given up

	taking context.Context // from when it comes up until requests are not sent any more
	refuse context.CancelFunc

	// A semaphore, held while frames are written. It is no mutex, since goroutines that wait for it
	// can give up, and in virtual time (testing/synctest) they must not stop the clock while a
	// write to a network that takes nothing waits for its deadline.
	writing chan struct{}

	// Under conn.mu.
	dead      error         // why the connection was given up; nil: it was not
	since     time.Time     // when it came up; zero: it has not
	replied   bool          // a request was answered
	order     []*request    // those without a reply, pings included, in the order of sending
	alone     *request      // the last one that was, or is, to be alone
	check     *time.Timer   // for a stall; nil: detectStalls has not begun
	checking  bool          // check is set
	slowest   time.Duration // time that recent replies took, at most
	lastHeard time.Time     // when the last request was sent whose reply was reported as Heard
}

func newSocket(c *core, raw net.Conn, at *target) *socket {
	return &socket{
		link: newLink(raw, c.maxReply(), at.about(c.log)), conn: c, at: at, limit: limitOf(c.timeout()),
		writing: make(chan struct{}, 1),
	}
}

// converse receives what the server sends, and pings, until the connection is lost.
func (w *socket) converse(every time.Duration) error {
	var pings sync.WaitGroup
	pings.Go(func() { // ends when the connection is lost
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if err := w.ping(); err != nil {
					w.lose(err)
				}
			case <-w.lost.C():
				return
			}
		}
	})
	defer pings.Wait()
	err := w.receive()
	w.lose(err)
	return err
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

// put sends requests, or refuses them, as soon as the requests that go before are answered. Their
// frames are complete but for the xids. If the write fails, the connection is lost and the requests
// get no reply.
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

// before returns a request that has to be answered before these are sent; nil: they may be sent. A
// request that is to be alone waits for all others, and later ones wait for it: they do not
// overtake it. The requests that trust depends on are an exception. They do not wait for one that
// is alone, and it does not wait for them, since they may come without end. Under mu.
func (w *socket) before(rs []*request) *request {
	last := rs[len(rs)-1]
	switch waits := last.alone || !last.probe; {
	case w.alone != nil && w.alone != last && !w.alone.answered.Closed(): // another one is to be alone, or is
		if waits {
			return w.alone
		}
	case last.alone: // it is its turn, when those under way are answered
		w.alone = last
		for _, r := range slices.Backward(w.order) {
			if !r.isPing() && !r.probe {
				return r
			}
		}
	}
	return nil
}

// number gives each request the next xid, also in its frame, and queues it for its reply; or it
// returns a request that goes before. It fails if the connection takes no requests any more, or one
// of them is called off. It is called with the semaphore, so that the queue has the order of the
// frames.
//
// The numbers go on from connection to connection. A server tells its own clients' transactions
// from others' by session and xid. If numbers began anew, it would take a transaction that was sent
// on the connection before, through another server, for a later one of the same number.
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
	if slices.ContainsFunc(rs, func(r *request) bool { return r.holds != nil && !r.holds() }) {
		if w.alone == rs[len(rs)-1] {
			w.alone.answered.Close() // no request waits for it any more
		}
		return nil, ErrCalledOff
	}
	s := &c.session
	for _, r := range rs {
		s.xid = max(s.xid+1, 1) // it wraps
		r.ask.Xid = s.xid
		binary.BigEndian.PutUint32(frames[4:], uint32(s.xid))
		c.rooted(r, frames[:4+r.size])
		frames = frames[4+r.size:]
		w.await(r)
		c.cfg.Counts.active[r.ask.Op].Add(1)
	}
	return nil, nil
}

// send sends a frame without waiting for a reply.
func (w *socket) send(frame []byte) error {
	w.writing <- struct{}{}
	defer w.written()
	return w.transmit(frame)
}

func (w *socket) written() { <-w.writing }

// transmit writes to the network, with the semaphore. If that fails, the connection is lost before
// the semaphore is released, so that the requests that wait for it are known not to be sent.
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

// answered removes the request of a reply from those that wait. It must be the oldest one: servers
// reply in the order of the requests. If a later reply comes first, the earlier one is lost and the
// outcome of its request would stay unknown for ever, so the connection is given up. Replies to
// older pings may be missing. Under mu.
func (w *socket) answered(xid int32) (*request, error) {
	i := slices.IndexFunc(w.order, func(r *request) bool { return r.ask.Xid == xid })
	if i < 0 {
		return nil, fmt.Errorf("%w: an answer to nothing, xid %d", errMalformed, xid)
	}
	for _, earlier := range w.order[:i] {
		if !earlier.isPing() {
			return nil, &overtakenError{earlier, fmt.Sprint(xid)}
		}
	}
	r := w.order[i]
	w.order = slices.Delete(w.order, 0, i+1)
	return r, nil
}

// ponged removes the oldest ping, and returns when it was sent: the zero time if there is none.
// Under mu.
func (w *socket) ponged() (sent time.Time, err error) {
	i := slices.IndexFunc(w.order, (*request).isPing)
	if i < 0 {
		return time.Time{}, nil
	}
	sent = w.order[i].sentAt
	w.order = slices.Delete(w.order, i, i+1)
	if i == 0 {
		return sent, nil
	}
	first := w.order[0]
	if first.overtaken++; first.overtaken >= maxOvertaken {
		return sent, &overtakenError{first, "pings"}
	}
	return sent, nil
}

func newPing() *request { return &request{ask: jute.Request{Xid: jute.XidPing, Op: jute.OpPing}} }

func (r *request) isPing() bool { return r.ask.Op == jute.OpPing }

// await queues a request that is about to be written. Under mu.
func (w *socket) await(r *request) {
	r.sentAt = time.Now()
	w.order = append(w.order, r)
	if !w.checking && w.check != nil && w.dead == nil {
		w.checking = true
		w.check.Reset(w.conn.session.timeout / hasteShare)
	}
}
