package zkconn

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// Read is called by the library: by its loop, for the answer to its request for the session; then
// by its receiving goroutine, which is busy here with all that the server sends until the
// connection is lost. None of that is for the library.
func (l *line) Read(p []byte) (n int, err error) {
	defer l.guard("reading", &err)
	if len(l.forLibrary) > 0 {
		n = copy(p, l.forLibrary)
		l.forLibrary = l.forLibrary[n:]
		return n, nil
	}
	for {
		if err := l.next(); err != nil {
			l.lose(err)
			return 0, err
		}
	}
}

// next deals with the next frame.
func (l *line) next() error {
	head, err := l.in.Peek(4)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	length := int(int32(binary.BigEndian.Uint32(head)))
	if length < headerLength {
		return fmt.Errorf("%w: its length is %d", errMalformed, length)
	}
	if head, err = l.in.Peek(4 + headerLength); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	var answer jute.Reply
	if err := answer.DecodeHeader(jute.NewReader(head[4:])); err != nil {
		return err
	}
	switch {
	case answer.Xid >= 0:
		return l.answer(answer, length)
	case answer.Err == jute.SessionClosedNoAuth:
		return l.unauthenticated()
	case length > l.conn.cfg.maxAnswer():
		return fmt.Errorf("%w: its length is %d", errMalformed, length)
	}
	frame, err := l.takeFrame(length)
	if err != nil {
		return err
	}
	return l.aside(answer.Xid, frame)
}

// aside deals with what answers no request.
func (l *line) aside(xid int32, frame []byte) error {
	switch {
	case xid == jute.XidPing:
		return l.ponged()
	case xid == jute.XidEvent:
		ev, err := decodeEvent(frame)
		if err != nil {
			return err
		}
		l.conn.tell(func() {
			if l.dead == nil {
				l.conn.fire(ev)
			}
		})
		return nil
	case xid == xidFarewell && l.conn.leaving():
		l.conn.confirmClosed()
		return io.EOF
	default:
		return fmt.Errorf("%w: its xid is %d", errMalformed, xid)
	}
}

// ponged takes the answer to a ping.
func (l *line) ponged() (err error) {
	l.conn.tell(func() {
		l.heard()
		var sent time.Time
		if sent, err = l.order.ponged(); err == nil && l.dead == nil && !sent.IsZero() {
			l.conn.outbox = append(l.conn.outbox, Heard{Sent: sent})
		}
	})
	return err
}

// takeFrame takes a whole frame off the reader; what it returns begins with the header, and is
// valid until the next.
func (l *line) takeFrame(length int) ([]byte, error) {
	if 4+length <= l.in.Size() {
		frame, err := l.in.Peek(4 + length)
		if err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		_, err = l.in.Discard(4 + length)
		return frame[4:], err
	}
	frame := make([]byte, 4+length)
	if _, err := io.ReadFull(l.in, frame); err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return frame[4:], nil
}

func decodeEvent(frame []byte) (ev jute.Event, err error) {
	r := jute.NewReader(frame[headerLength:])
	if ev.Decode(r); r.Err() != nil {
		return ev, fmt.Errorf("%w: %w", errMalformed, r.Err())
	}
	return ev, nil
}

// fire disarms the watches that an event ends and puts it into the outbox. Under mu.
func (c *Conn) fire(ev jute.Event) {
	c.watches.fired(ev)
	switch t := EventType(ev.Type); t {
	case NodeCreated, NodeDeleted, NodeDataChanged, NodeChildrenChanged:
		c.outbox = append(c.outbox, Fired{Type: t, Path: ev.Path})
	}
}
