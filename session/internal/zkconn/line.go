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
	errHungUp      = errors.New("the connection was hung up")
	errMalformed   = errors.New("the server sent what is no ZooKeeper frame")
	errNoFarewell  = errors.New("the server did not answer the closing of the session in time")
	errUnexpected  = errors.New("the client library sent what nobody asked for")
	errNotAccepted = errors.New("the server did not accept the session")
)

const (
	xidFarewell int32 = -11 // of our own closeSession; servers give back what they get

	passwordLength = 16
	headerLength   = 16 // of a reply: xid, zxid, error
)

// line is one connection to one server. The library takes it for its net.Conn: it writes one whole
// frame a Write, first the request for the session, then pings; and reads, by its receiving
// goroutine, which is the line's from then on. All else is dealt with here.
type line struct {
	withoutDeadlines
	conn    *Conn
	raw     net.Conn
	at      *target
	limit   time.Duration        // for each step of the handshake
	welcome jute.ConnectResponse // the answer to the request for the session
	gone    *notify.Latch        // it is lost

	crowd   crowd // of requests
	writing turn  // one frame at a time

	// Of the library's loop during the handshake, and of its receiving goroutine from then on.
	in         *bufio.Reader
	early      []jute.Event // fired during the handshake; told right after the Up
	forLibrary []byte       // its answer to the request for the session, until that is read

	greeted bool // the library has asked for the session, which had been done before; of its loop

	askedAt time.Time     // when the session was asked for; under conn.mu
	created bool          // the session was created by that; under conn.mu
	dead    error         // why it is lost; under conn.mu
	since   time.Time     // when it came up; under conn.mu
	useful  bool          // a request was answered; under conn.mu
	xid     int32         // of the last request; under conn.mu
	order   queue         // of what is not answered; under conn.mu
	silence silence       // under conn.mu
	lively  time.Time     // when a request was sent whose answer was told as a sign of life; under conn.mu
	quiet   time.Duration // how long a silence is borne, though pings go out; set when it comes up
	far     bool          // the handshake has shown that answers take long; likewise
}

func newLine(c *Conn, raw net.Conn, at *target) *line {
	l := &line{conn: c, raw: raw, at: at, limit: limitOf(c.timeout()), gone: notify.NewLatch(), writing: newTurn()}
	l.in = bufio.NewReaderSize(patient{l}, smallBuffer)
	return l
}

// patient reads what the network has. Each read may take as long as a silence may: the library's
// own deadline, for a whole frame, would cut off a large answer on a slow network.
type patient struct{ l *line }

func (p patient) Read(b []byte) (n int, err error) {
	defer p.l.guardNetwork("read", &err)
	if p.l.quiet > 0 {
		if err := p.l.raw.SetReadDeadline(time.Now().Add(p.l.quiet)); err != nil {
			return 0, err
		}
	}
	return p.l.raw.Read(b)
}

// lose gives the connection up, once. From then on nothing that it still brings is taken, so that
// what was told with Down is the end.
func (l *line) lose(cause error) {
	c := l.conn
	var first, nothing, down bool
	c.tell(func() {
		if first = l.dead == nil; !first {
			return
		}
		l.blame(cause)
		l.dead, l.order = cause, queue{}
		if l.silence.timer != nil {
			l.silence.timer.Stop()
		}
		if c.dialled == l {
			c.dialled = nil
		}
		if c.line == l {
			c.line = nil
			c.tries = l.afterwards(c.tries)
			l.judge(cause)
			if down = c.cause == nil; down {
				c.outbox = append(c.outbox, Down{Cause: cause})
			}
		}
		nothing = c.closing && c.session.id == 0
	})
	if !first {
		return
	}
	l.gone.Close()
	l.hangUp()
	if down && !errors.Is(cause, ErrAuthRequired) {
		c.log.Debug("connection to ZooKeeper lost", "server", l.at.server, "address", l.at.address, "cause", cause)
	} else {
		c.complain(l.at, cause)
	}
	if nothing {
		c.end(errClosed)
	}
}

// afterwards is how many tries to connect count now that the line, which was up, is lost. One that
// lasted is replaced at once; one that was of use after the shortest pause, lest a request at which
// servers hang up become a storm; any other was no better than a failure.
func (l *line) afterwards(tries int) int {
	switch {
	case errors.Is(l.dead, ErrAuthRequired):
		return tries
	case time.Since(l.since) >= l.limit:
		return 0
	case l.useful:
		return min(tries, len(l.conn.cfg.Servers))
	default:
		return tries
	}
}

// judge notes what a connection that was up and is lost says of its server. Under mu.
func (l *line) judge(cause error) {
	now := time.Now()
	if errors.Is(cause, errSilent) || errors.Is(cause, os.ErrDeadlineExceeded) {
		l.at.leave(now, l.conn.session.timeout)
		return
	}
	l.at.served(now.Sub(l.since))
}

// hangUp closes the connection without a word: a farewell of TLS could block on a network that
// takes nothing any more.
func (l *line) hangUp() {
	var ignored error
	defer l.guardNetwork("hang up", &ignored)
	if secured, ok := l.raw.(interface{ NetConn() net.Conn }); ok {
		_ = secured.NetConn().Close()
	}
	_ = l.raw.Close() // of no interest: it is lost
}

// Close is how the library gives the connection up; it has lost it by then, or has been told so.
func (l *line) Close() error {
	l.lose(errHungUp)
	return nil
}

func (l *line) LocalAddr() net.Addr  { return l.raw.LocalAddr() }
func (l *line) RemoteAddr() net.Addr { return l.raw.RemoteAddr() }
