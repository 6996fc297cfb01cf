package zkconn

import (
	"context"
	"errors"
	"net"
	"time"

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

	// A semaphore, held while frames are written. It is no mutex: those that wait can give up,
	// and with virtual time (testing/synctest) they don't stop the clock while a write to a
	// network that takes nothing waits for its deadline.
	writing chan struct{}

	// Under conn.mu.
	dead      error     // why the connection was given up
	since     time.Time // when it came up
	replied   bool      // a request was answered
	order     queue     // what is not answered
	alone     *request  // the last one that was, or is, to be alone
	stall     stall
	lastHeard time.Time // when the last request was sent whose reply was reported as Heard
}

func newWire(c *core, raw net.Conn, at *target) *socket {
	return &socket{
		link: newLink(raw, c.cfg.maxReply(), at.about(c.log)), conn: c, at: at, limit: limitOf(c.timeout()),
		writing: make(chan struct{}, 1),
	}
}

// lose gives the connection up, once. What it still receives is ignored, so that no event of it
// follows the Down.
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
		w.dead, w.order = cause, nil
		if w.stall.timer != nil {
			w.stall.timer.Stop()
		}
		c.socket = nil
		w.rate(cause)
		if w.up() {
			w.refuse()
			c.tries = w.triesAfter(c.tries)
			brief = c.brief
			if c.since.IsZero() {
				c.since = time.Now()
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

// up tells whether it came up. Under mu.
func (w *socket) up() bool { return !w.since.IsZero() }

// lasted tells whether it was up for as long as a server has for a step of the handshake. Under mu.
func (w *socket) lasted() bool { return w.up() && time.Since(w.since) >= w.limit }

// rate notes what the loss of a connection says about its server: the others are tried first, since
// it may have been stopped. One that accepts sessions and drops them at once, or does not answer,
// is as one that refuses them. Under mu.
func (w *socket) rate(cause error) {
	w.conn.lost = w.at
	if !w.replied && !w.lasted() || w.up() && (errors.Is(cause, errStalled) || timedOut(cause)) {
		w.at.failed(time.Now(), w.conn.session.timeout)
	}
}

// triesAfter is the count of tries, on which the pause before the next one depends, after a
// connection that was up. One that lasted is replaced at once. One on which a request was answered
// is replaced after the shortest pause, and from the third in a row on pauses grow: a request at
// which servers hang up must not cause a storm of connections. Any other counts as a failure.
func (w *socket) triesAfter(tries int) int {
	w.conn.brief++
	switch all := w.conn.servers.addresses(); {
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
