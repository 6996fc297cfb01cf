package zkconn

import "time"

// Event is something that the sink of a [Conn] is told. The set is closed: Up, Down, Ended, Fired,
// Proved and Heard.
type Event interface{ event() }

// Up: there is a connection, it has the session, it is authenticated with every credential, and
// every watch is armed on it again. Requests are taken from now on.
type Up struct {
	SessionID int64
	Timeout   time.Duration // as negotiated with the server, not as asked for
	Server    string        // host:port, as given
	Address   string        // that was connected to: the same, or one of those that the host's name stands for
	Asked     time.Time     // when the session was asked for on this connection: the leader has heard of it since
	Created   bool          // the session was created by that, which takes a quorum
}

// Down: the connection is gone. The session may live on; the Conn reconnects by itself. Requests
// that were sent and not answered return [ErrNoReply]; new ones get [ErrNotSent].
type Down struct{ Cause error }

// Ended: the session is over, for the cause [ErrExpired], [ErrReplaced] or [ErrAuthFailed]. It is
// the last event of a Conn. Nothing was connected again behind it, but to close the session of
// which a credential was refused; Close has to be called all the same. Close and Abandon cause no
// event.
type Ended struct{ Cause error }

// Fired: a watch fired, in wire order, and is disarmed. What happened while the connection was down
// is told right after the Up. The answer of the read that armed the watch may be returned later
// than this, and very rarely a watch fires once more than it was armed.
type Fired struct {
	Type EventType
	Path string
}

// Proved: a sync or a write whose frame was written right after the instant Sent (monotonic and
// wall clock) has been answered without an error. So the session was alive for the leader at some
// instant after Sent. Write tells a write, which a quorum has agreed to; to a sync a leader alone
// answers, one as well that was deposed and has not noticed.
type Proved struct {
	Sent  time.Time
	Write bool
}

// Heard: a ping, or a request that is no proof, which was written right after the instant Sent has
// been answered, and promptly. So the server has heard of the session since; the leader may not
// have.
type Heard struct{ Sent time.Time }

func (Up) event()     {}
func (Down) event()   {}
func (Ended) event()  {}
func (Fired) event()  {}
func (Proved) event() {}
func (Heard) event()  {}

// EventType says what happened to a watched znode. The numbers are ZooKeeper's.
type EventType int32

// What can happen to a watched znode.
const (
	NodeCreated         EventType = 1 // it did not exist and was watched by Exists
	NodeDeleted         EventType = 2
	NodeDataChanged     EventType = 3
	NodeChildrenChanged EventType = 4 // a child came or went; changes inside a child don't count
)

// String is ZooKeeper's name of the type.
func (t EventType) String() string {
	switch t {
	case NodeCreated:
		return "NodeCreated"
	case NodeDeleted:
		return "NodeDeleted"
	case NodeDataChanged:
		return "NodeDataChanged"
	case NodeChildrenChanged:
		return "NodeChildrenChanged"
	default:
		return "unknown"
	}
}
