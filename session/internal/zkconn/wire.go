package zkconn

import (
	"bufio"
	"errors"
	"net"
	"os"
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
	xidClose int32 = -11 // of our own closeSession; servers give back what they get

	passwordLength = 16
	headerLength   = 16 // of a reply: xid, zxid, error
)

// wire is one connection to one server. The library takes it for its net.Conn: it writes one whole
// frame a Write, first the request for the session, then pings; and reads, by its receiving
// goroutine, which is the wire's from then on. All else is dealt with here.
type wire struct {
	withoutDeadlines
	conn     *Conn
	raw      net.Conn
	at       *target
	limit    time.Duration        // for each step of the handshake
	response jute.ConnectResponse // the answer to the request for the session
	lost     *notify.Latch        // closes when the connection is given up

	gate    gate      // of requests
	writing semaphore // one frame at a time

	// Of the library's loop during the handshake, and of its receiving goroutine from then on.
	in         *bufio.Reader
	early      []jute.Event // fired during the handshake; told right after the Up
	forLibrary []byte       // its answer to the request for the session, until that is read

	askedForSession bool // the library has asked for the session, which had been done before; of its loop

	askedAt   time.Time     // when the session was asked for; under conn.mu
	created   bool          // the session was created by that; under conn.mu
	dead      error         // why it is lost; under conn.mu
	since     time.Time     // when it came up; under conn.mu
	replied   bool          // a request was answered; under conn.mu
	xid       int32         // of the last request; under conn.mu
	order     queue         // of what is not answered; under conn.mu
	stall     stall         // under conn.mu
	lastHeard time.Time     // when a request was sent whose answer was told as a sign of life; under conn.mu
	patience  time.Duration // how long a stall is borne, though pings go out; set when it comes up
	slow      bool          // the handshake has shown that answers take long; likewise
}

func newWire(c *Conn, raw net.Conn, at *target) *wire {
	w := &wire{conn: c, raw: raw, at: at, limit: limitOf(c.timeout()), lost: notify.NewLatch(), writing: newSemaphore()}
	w.in = bufio.NewReaderSize(patient{w}, smallBuffer)
	return w
}

// patient reads what the network has. Each read may take as long as a stall may: the library's
// own deadline, for a whole frame, would cut off a large answer on a slow network.
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

// lose gives the connection up, once. From then on nothing that it still brings is taken, so that
// what was told with Down is the end.
func (w *wire) lose(cause error) {
	c := w.conn
	var first, nothing, down bool
	c.tell(func() {
		if first = w.dead == nil; !first {
			return
		}
		w.blame(cause)
		w.dead, w.order = cause, queue{}
		if w.stall.timer != nil {
			w.stall.timer.Stop()
		}
		if c.dialed == w {
			c.dialed = nil
		}
		if c.wire == w {
			c.wire = nil
			c.tries = w.afterwards(c.tries)
			w.judge(cause)
			if down = c.cause == nil; down {
				c.outbox = append(c.outbox, Down{Cause: cause})
			}
		}
		nothing = c.closing && c.session.id == 0
	})
	if !first {
		return
	}
	w.lost.Close()
	w.hangUp()
	if down && !errors.Is(cause, ErrAuthRequired) {
		c.log.Debug("connection to ZooKeeper lost", "server", w.at.server, "address", w.at.address, "cause", cause)
	} else {
		c.complain(w.at, cause)
	}
	if nothing {
		c.end(errClosed)
	}
}

// afterwards is how many tries to connect count now that the wire, which was up, is lost. One that
// lasted is replaced at once; one that was of use after the shortest pause, lest a request at which
// servers hang up become a storm; any other was no better than a failure.
func (w *wire) afterwards(tries int) int {
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

// judge notes what a connection that was up and is lost says of its server. Under mu.
func (w *wire) judge(cause error) {
	now := time.Now()
	if errors.Is(cause, errStalled) || errors.Is(cause, os.ErrDeadlineExceeded) {
		w.at.leave(now, w.conn.session.timeout)
		return
	}
	w.at.served(now.Sub(w.since))
}

// hangUp closes the connection without a word: the farewell of TLS could block on a network that
// takes nothing any more.
func (w *wire) hangUp() {
	var ignored error
	defer w.guardNetwork("hang up", &ignored)
	if secured, ok := w.raw.(interface{ NetConn() net.Conn }); ok {
		_ = secured.NetConn().Close()
	}
	_ = w.raw.Close() // of no interest: it is lost
}

// Close is how the library gives the connection up; it has lost it by then, or has been told so.
func (w *wire) Close() error {
	w.lose(errHungUp)
	return nil
}

func (w *wire) LocalAddr() net.Addr  { return w.raw.LocalAddr() }
func (w *wire) RemoteAddr() net.Addr { return w.raw.RemoteAddr() }
