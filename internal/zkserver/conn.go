package zkserver

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/seeded"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// conn is a client's connection. One goroutine reads its requests and serves them one after the
// other.
type conn struct {
	s         *Server
	front     *Front
	transport net.Conn // below TLS, if there is any
	in        frames
	out       outbox
	done      chan struct{} // closed when the connection is over for the server

	// Guarded by s.mu, as all that follows but for the last group.
	session *session // nil until the handshake is through
	timeout time.Duration
	who     *tree.Who
	host    string         // under which it was dialed, if any
	from    *seeded.Source // nil without Config.Replay
	cuts    []*cut         // the partitions that it is in
	overdue *time.Timer    // closes the connection if there is no session until then
	ended   bool           // done is closed
	// The request that is being served, and those that wait.
	busy    bool     // in dispatch or admit, whose caller writes answers and ends the connection: kick and evict don't
	mute    bool     // answer nothing to it
	rq      *Request // as interceptors and the journal see it; nil: there are none
	waiting int      // how many others are in Front.waiting

	// For four-letter words.
	number      int64 // in the order in which connections came
	established time.Time
	traffic     traffic
	arrived     time.Time // of the last request
	waited      bool      // the last request had to wait
	lastOp      jute.Op
	lastXid     int32
	lastZxid    int64

	// Of its own goroutine alone.
	deaf    bool // its handshake was dropped: frames that it sends are ignored
	request jute.Request
	reader  jute.Reader
}

// newConn is called with the server's lock held.
func newConn(f *Front, transport net.Conn) *conn {
	f.s.accepted++
	c := &conn{s: f.s, front: f, transport: transport, done: make(chan struct{}), number: f.s.accepted, established: time.Now(), who: tree.NewWho()}
	way := transport
	if f.s.tls != nil {
		way = tls.Server(transport, f.s.tls)
	}
	c.in = newFrames(way, f.s.cfg.MaxPacket)
	c.out.to, c.out.transport, c.out.limit, c.out.moved.L = way, transport, f.s.cfg.Backlog, &c.out.mu
	if host, _, err := net.SplitHostPort(transport.RemoteAddr().String()); err == nil {
		c.who.Add(jute.Identity{Scheme: "ip", ID: host})
	}
	return c
}

// serve runs until the connection is over.
func (c *conn) serve() {
	defer c.gone()
	if !c.handshake() {
		return
	}
	for {
		if !c.in.ready() {
			c.out.flush()
		}
		c.out.drain()
		frame, err := c.in.next()
		if err != nil {
			return
		}
		if c.deaf {
			continue
		}
		c.reader.Reset(frame)
		c.request.Reset()
		if c.request.Decode(&c.reader) != nil || !c.handle(&c.request) {
			return
		}
	}
}

// gone is the end of the connection's goroutine. The client must not see that the connection is
// over while a partition holds that up.
func (c *conn) gone() {
	c.s.mu.Lock()
	c.finish()
	for g := c.answerGate(); g != nil && !c.s.closed; g = c.answerGate() {
		c.s.mu.Unlock()
		select {
		case <-g.opened:
		case <-c.s.closing:
		}
		c.s.mu.Lock()
	}
	delete(c.front.conns, c)
	if c.s.closed {
		c.out.abort()
	}
	c.s.mu.Unlock()
	c.out.flush() // the last goroutine to write closes the transport
}

// answerGate is the gate that keeps answers from the client: of a front that is stopped, or of a
// partition; nil: there is none.
func (c *conn) answerGate() *gate {
	if c.front.frozen != nil {
		return c.front.frozen
	}
	for _, x := range c.cuts {
		if x.out {
			return x.gate
		}
	}
	return nil
}

// finish ends the connection for the server: nothing is served any more. The client sees it when
// everything is written and nothing holds that up. The caller holds the server's lock.
func (c *conn) finish() {
	if c.ended {
		return
	}
	c.ended = true
	close(c.done)
	if c.overdue != nil {
		c.overdue.Stop()
	}
	f := c.front
	f.data.Drop(c)
	f.child.Drop(c)
	if c.session != nil && f.bySession[c.session.id] == c {
		delete(f.bySession, c.session.id)
	}
	c.out.finish()
	c.kick()
}

// abort ends the connection at once for both sides, unless something keeps the client from seeing
// it: then it sees it later. The caller holds the server's lock.
func (c *conn) abort() {
	c.finish()
	if c.answerGate() == nil || c.s.closed {
		c.out.abort()
	}
}

// noZxid is the number of an event that doesn't say which transaction it tells of.
const noZxid = -1

// notify sends an event. The caller holds the server's lock.
func (c *conn) notify(kind jute.EventType, path string, zxid int64) {
	c.s.fired++
	if !c.s.dialect.eventZxid {
		zxid = noZxid
	}
	e := jute.Event{Type: kind, State: jute.StateConnected, Path: path}
	e.Encode(c.out.begin(), zxid)
	c.out.end()
	c.sentOut()
	c.kick()
}

// kick has a goroutine write the answers that wait. The caller holds the server's lock.
func (c *conn) kick() {
	if c.busy || c.s.closed || c.out.idle() {
		return
	}
	// The server owns this goroutine; it ends when nothing is left to write, or the transport is
	// closed.
	c.s.work.Go(c.out.flush)
}

// wait lets the client have its answers, and then waits for a gate or the end of the connection.
func (c *conn) wait(g *gate) {
	c.out.flush()
	select {
	case <-g.opened:
		if c.from != nil { // others have waited too
			rest(time.Until(c.from.Arrival(time.Now())), c.done)
		}
	case <-c.done:
	}
}
