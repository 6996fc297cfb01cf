package zktest_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// raw is a client that says exactly what it is told to, in lock step.
type raw struct {
	conn     net.Conn
	xid      int32
	session  int64
	password []byte
	timeout  int32
	events   []jute.Event
	seen     int64 // the last zxid
}

// greet opens a connection; session 0 asks for a new session.
func greet(conn net.Conn, q jute.ConnectRequest) (*raw, error) {
	c := &raw{conn: conn}
	conn.SetDeadline(time.Now().Add(10 * time.Second))
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
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(c.conn, frame)
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
	if q.Xid == 0 {
		c.xid++
		q.Xid = c.xid
	}
	c.conn.SetDeadline(time.Now().Add(10 * time.Second))
	if err := c.send(q); err != nil {
		return jute.Reply{}, err
	}
	for {
		frame, err := c.frame()
		if err != nil {
			return jute.Reply{}, err
		}
		var p jute.Reply
		r := jute.NewReader(frame)
		if err := p.DecodeHeader(r); err != nil {
			return p, err
		}
		if p.Xid == jute.XidEvent {
			var e jute.Event
			e.Decode(r)
			c.events = append(c.events, e)
			continue
		}
		if p.Xid != q.Xid {
			return p, fmt.Errorf("xid %d instead of %d", p.Xid, q.Xid)
		}
		c.seen = max(c.seen, p.Zxid)
		if err := p.DecodeBody(r, q.Op); err != nil {
			return p, err
		}
		if r.Len() != 0 {
			return p, fmt.Errorf("%d bytes too many in the reply to %v", r.Len(), q.Op)
		}
		return p, nil
	}
}

// drain has everything delivered that was sent before, and returns the events.
func (c *raw) drain() ([]jute.Event, error) {
	_, err := c.do(jute.Request{Xid: jute.XidPing, Op: jute.OpPing})
	events := c.events
	c.events = nil
	return events, err
}
