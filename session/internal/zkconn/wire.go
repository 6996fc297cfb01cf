package zkconn

import (
	"bufio"
	"errors"
	"net"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
)

// Why a connection is given up here, rather than by the network.
var (
	errHungUp       = errors.New("the connection was hung up")
	errMalformed    = errors.New("the server sent what is no ZooKeeper frame")
	errCloseTimeout = errors.New("the server did not answer the closing of the session in time")
	errUnexpected   = errors.New("the client library sent what nobody asked for")
	errNotAccepted  = errors.New("the server did not accept the session")
)

const (
	xidClose int32 = -11 // of closeSession; the server echoes it

	passwordLength = 16
	headerLength   = 16 // of a reply: xid, zxid, error
)

// wire is one connection to one server. It is the net.Conn of the library, whose writes are pings,
// and whose receiving goroutine runs the wire's receive loop (see Read).
type wire struct {
	withoutDeadlines
	conn     *Conn
	raw      net.Conn
	at       *target
	limit    time.Duration        // of each step of the handshake
	response jute.ConnectResponse // the reply to the connect request
	lost     *notify.Latch        // closes when the connection is given up

	gate gate // requests that are under way

	// A semaphore, held while frames are written. It is no mutex: those that wait can give up,
	// and with virtual time (testing/synctest) they don't stop the clock while a write to a
	// network that takes nothing waits for its deadline.
	writing chan struct{}

	// Of the library's main goroutine until the handshake is done, then of its receiving one.
	in         *bufio.Reader
	early      []jute.Event // received during the handshake; delivered right after the Up
	forLibrary []byte       // the reply to the library's own connect request, until it is read

	askedForSession bool // the library has written its connect request; of its main goroutine

	// Under conn.mu.
	askedAt   time.Time // when the connect request was sent
	created   bool      // the session was created by that
	dead      error     // why the connection was given up
	since     time.Time // when it came up
	replied   bool      // a request was answered
	order     queue     // what is not answered
	stall     stall
	lastHeard time.Time // when the last request was sent whose reply was reported as Heard

	// Set before the connection comes up, and not changed after.
	patience time.Duration // after which a read or a write fails; 0 during the handshake
	slow     bool          // replies took long during the handshake
}

func newWire(c *Conn, raw net.Conn, at *target) *wire {
	w := &wire{conn: c, raw: raw, at: at, limit: limitOf(c.timeout()), lost: notify.NewLatch(), writing: make(chan struct{}, 1)}
	w.in = bufio.NewReaderSize(patient{w}, smallBuffer)
	return w
}

// patient reads from the network. The deadline is for each read, not for each frame as the
// library's would be: a large reply may take long on a slow network.
type patient struct{ w *wire }

func (p patient) Read(b []byte) (n int, err error) {
	defer p.w.guardNetwork("read", &err)
	if p.w.patience > 0 {
		if err := p.w.raw.SetReadDeadline(time.Now().Add(p.w.patience)); err != nil {
			return 0, err
		}
	}
	return p.w.raw.Read(b)
}

// lose gives the connection up, once. What it still receives is ignored, so that no event of it
// follows the Down.
func (w *wire) lose(cause error) {
	c := w.conn
	var first, nothing, down bool
	c.update(func() {
		if first = w.dead == nil; !first {
			return
		}
		w.blame(cause)
		w.dead, w.order = cause, queue{}
		if w.stall.timer != nil {
			w.stall.timer.Stop()
		}
		nothing = c.over() && c.session.id == 0
		if c.wire != w {
			return
		}
		c.wire = nil
		if !w.useful() {
			w.at.failed(time.Now(), c.session.timeout)
		}
		if w.up() {
			c.tries = w.triesAfter(c.tries)
			w.rate(cause)
			down = c.life.Err() == nil
			c.events = append(c.events, Down{Cause: cause})
		}
	})
	if !first {
		return
	}
	w.lost.Close()
	w.hangUp()
	if down && !errors.Is(cause, ErrAuthRequired) {
		c.log.Debug("connection to ZooKeeper lost", "server", w.at.server, "address", w.at.address, "cause", cause)
	} else {
		c.warnDown(w.at, cause)
	}
	if nothing {
		c.end(errClosed)
	}
}

// up tells whether it came up. Under mu.
func (w *wire) up() bool { return !w.since.IsZero() }

// useful tells whether a connection was good for anything. A server that accepts sessions and drops
// them at once is tried after the others, as one that refuses them. Under mu.
func (w *wire) useful() bool {
	return w.replied || w.up() && time.Since(w.since) >= w.limit
}

// triesAfter is the count of tries, on which the pause before the next one depends, after a
// connection that was up. One that lasted is replaced at once. One on which a request was answered
// is replaced after the shortest pause: a request at which servers hang up must not cause a storm
// of connections. Any other counts as a failure.
func (w *wire) triesAfter(tries int) int {
	switch {
	case errors.Is(w.dead, ErrAuthRequired):
		return tries
	case time.Since(w.since) >= w.limit:
		return 0
	case w.replied:
		return min(tries, len(w.conn.cfg.Servers))
	default:
		return tries
	}
}

// rate notes what the loss of a connection says about its server. Under mu.
func (w *wire) rate(cause error) {
	now := time.Now()
	if errors.Is(cause, errStalled) || timedOut(cause) {
		w.at.penalize(now, w.conn.session.timeout)
		return
	}
	w.at.served(now.Sub(w.since))
}

// hangUp closes the network connection. It skips the close_notify of TLS, whose write could block.
func (w *wire) hangUp() {
	var ignored error
	defer w.guardNetwork("hang up", &ignored)
	if secured, ok := w.raw.(interface{ NetConn() net.Conn }); ok {
		_ = secured.NetConn().Close()
	}
	_ = w.raw.Close()
}

// Close is called by the library when a read or a write has failed.
func (w *wire) Close() error {
	w.lose(errHungUp)
	return nil
}

func (w *wire) LocalAddr() net.Addr  { return w.raw.LocalAddr() }
func (w *wire) RemoteAddr() net.Addr { return w.raw.RemoteAddr() }
