package zkconn

import (
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// Event is what the sink of a [Conn] is called with: Up, Down, Ended, Fired, Proved or Heard.
type Event interface{ event() }

// Up: there is a connection with the session. Every credential was accepted, and every watch is
// armed again. Requests are taken from now on.
type Up struct {
	SessionID int64
	Timeout   time.Duration // as the server replied
	Server    string        // host:port, as configured
	Address   string        // the same, or one of the addresses of the host's name
	Asked     time.Time     // when the connect request was sent: the leader has heard of the session since
	Created   bool          // the connect request created the session, which takes a quorum
}

// Down: the connection is lost. The session may live on, and the Conn reconnects. Requests that
// were sent and not answered return [ErrNoReply]; new ones return [ErrNotSent].
type Down struct{ Cause error }

// Ended: the session is over, by [ErrExpired], [ErrReplaced], [ErrDataLoss] or [ErrAuthFailed]. It
// is the last event of a Conn, which does not connect again except, after ErrAuthFailed, to close
// the session. Close has to be called all the same. Close and Abandon cause no event.
type Ended struct{ Cause error }

// Fired: a watch fired, and is disarmed. What happened while there was no connection follows right
// after the Up. The read that armed the watch may return later than this, and very rarely a watch
// fires once more than it was armed.
type Fired struct {
	Type jute.EventType
	Path string
}

// Proved: a sync or a write, sent right after the instant Sent (monotonic and wall clock), was
// answered without an error. So the session was alive for the leader at some instant after Sent. A
// write was agreed to by a quorum. A sync is answered by the leader alone, also by one that was
// deposed and has not noticed.
type Proved struct {
	Sent  time.Time
	Write bool
}

// Heard: a ping, or a request that proves nothing, sent right after the instant Sent, was answered
// promptly. So the server has heard of the session since; the leader may not have.
type Heard struct{ Sent time.Time }

func (Up) event()     {}
func (Down) event()   {}
func (Ended) event()  {}
func (Fired) event()  {}
func (Proved) event() {}
func (Heard) event()  {}
