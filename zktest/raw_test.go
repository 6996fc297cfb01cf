package zktest_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// raw is a client that says exactly what it is told to, in lock step. patience bounds what a server
// does at once, on however busy a machine. In memory, where time is virtual, it need not be long.
const patience = time.Minute

func patient(conn net.Conn) time.Time {
	if conn.LocalAddr().Network() == "tcp" {
		return time.Now().Add(patience)
	}
	return time.Now().Add(10 * time.Second)
}

type raw struct {
	conn     net.Conn
	in       *bufio.Reader
	xid      int32
	session  int64
	password []byte
	timeout  int32
	events   []jute.Event
	seen     int64 // the last zxid
}

// greet opens a connection; session 0 asks for a new session.
func greet(conn net.Conn, q jute.ConnectRequest) (*raw, error) {
	c := &raw{conn: conn, in: bufio.NewReaderSize(conn, 16<<10)}
	conn.SetDeadline(patient(conn))
	w := jute.NewWriter(nil)
	w.Begin()
	q.Encode(w)
	w.End()
	if _, err := conn.Write(w.Bytes()); err != nil {
		return nil, err
	}
	frame, err := c.frame()
	if err != nil {
		return nil, err
	}
	var p jute.ConnectResponse
	if err := p.Decode(jute.NewReader(frame)); err != nil {
		return nil, err
	}
	c.session, c.password, c.timeout = p.SessionID, p.Password, p.Timeout
	return c, nil
}

func (c *raw) frame() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(c.in, frame)
	return frame, err
}

func (c *raw) send(q jute.Request) error {
	w := jute.NewWriter(nil)
	w.Begin()
	q.Encode(w)
	w.End()
	_, err := c.conn.Write(w.Bytes())
	return err
}

// do sends a request and waits for its reply; the events before it are kept.
func (c *raw) do(q jute.Request) (jute.Reply, error) {
	qs := []jute.Request{q}
	if err := c.post(qs); err != nil {
		return jute.Reply{}, err
	}
	all, err := c.collect(qs)
	var reply jute.Reply
	for _, a := range all {
		if a.isEvent {
			c.events = append(c.events, a.event)
			continue
		}
		reply = a.reply
	}
	return reply, err
}

// post sends requests, all at once, and gives them their xids.
func (c *raw) post(qs []jute.Request) error {
	w := jute.NewWriter(nil)
	for i := range qs {
		if qs[i].Xid == 0 {
			c.xid++
			qs[i].Xid = c.xid
		}
		w.Begin()
		qs[i].Encode(w)
		w.End()
	}
	c.conn.SetDeadline(patient(c.conn))
	_, err := c.conn.Write(w.Bytes())
	return err
}

// arrival is what a server says: a reply, or an event.
type arrival struct {
	isEvent bool
	event   jute.Event
	reply   jute.Reply
}

// collect receives the replies to what was posted, and the events between them.
func (c *raw) collect(qs []jute.Request) (all []arrival, err error) {
	for len(qs) > 0 {
		frame, err := c.frame()
		if err != nil {
			return all, err
		}
		var a arrival
		r := jute.NewReader(frame)
		if err := a.reply.DecodeHeader(r); err != nil {
			return all, err
		}
		if a.isEvent = a.reply.Xid == jute.XidEvent; a.isEvent {
			a.reply = jute.Reply{Zxid: a.reply.Zxid}
			a.event.Decode(r)
			all = append(all, a)
			continue
		}
		q := qs[0]
		qs = qs[1:]
		if a.reply.Xid != q.Xid {
			return all, fmt.Errorf("xid %d instead of %d", a.reply.Xid, q.Xid)
		}
		c.seen = max(c.seen, a.reply.Zxid)
		if err := a.reply.DecodeBody(r, q.Op); err != nil {
			return all, err
		}
		if r.Len() != 0 {
			return all, fmt.Errorf("%d bytes too many in the reply to %v", r.Len(), q.Op)
		}
		all = append(all, a)
	}
	return all, nil
}

// drain has everything delivered that was sent before, and returns the events.
func (c *raw) drain() ([]jute.Event, error) {
	_, err := c.do(jute.Request{Xid: jute.XidPing, Op: jute.OpPing})
	events := c.events
	c.events = nil
	return events, err
}
