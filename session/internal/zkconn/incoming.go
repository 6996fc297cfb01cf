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
func (w *wire) Read(p []byte) (n int, err error) {
	defer w.guard("reading", &err)
	if len(w.forLibrary) > 0 {
		n = copy(p, w.forLibrary)
		w.forLibrary = w.forLibrary[n:]
		return n, nil
	}
	for {
		if err := w.next(); err != nil {
			w.lose(err)
			return 0, err
		}
	}
}

// next deals with the next frame.
func (w *wire) next() error {
	head, err := w.in.Peek(4)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	length := int(int32(binary.BigEndian.Uint32(head)))
	if length < headerLength {
		return fmt.Errorf("%w: its length is %d", errMalformed, length)
	}
	if head, err = w.in.Peek(4 + headerLength); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	var answer jute.Reply
	if err := answer.DecodeHeader(jute.NewReader(head[4:])); err != nil {
		return err
	}
	switch {
	case answer.Xid >= 0:
		return w.answer(answer, length)
	case answer.Err == jute.SessionClosedNoAuth:
		return w.unauthenticated()
	case length > w.conn.cfg.maxAnswer():
		return fmt.Errorf("%w: its length is %d", errMalformed, length)
	}
	frame, err := w.takeFrame(length)
	if err != nil {
		return err
	}
	return w.aside(answer.Xid, frame)
}

// aside deals with what answers no request.
func (w *wire) aside(xid int32, frame []byte) error {
	switch {
	case xid == jute.XidPing:
		return w.ponged()
	case xid == jute.XidEvent:
		ev, err := decodeEvent(frame)
		if err != nil {
			return err
		}
		w.conn.tell(func() {
			if w.dead == nil {
				w.conn.fire(ev)
			}
		})
		return nil
	case xid == xidClose && w.conn.leaving():
		w.conn.confirmClosed()
		return io.EOF
	default:
		return fmt.Errorf("%w: its xid is %d", errMalformed, xid)
	}
}

// ponged takes the answer to a ping.
func (w *wire) ponged() (err error) {
	w.conn.tell(func() {
		w.heard()
		var sent time.Time
		if sent, err = w.order.ponged(); err == nil && w.dead == nil && !sent.IsZero() {
			w.conn.outbox = append(w.conn.outbox, Heard{Sent: sent})
		}
	})
	return err
}

// takeFrame takes a whole frame off the reader; what it returns begins with the header, and is
// valid until the next.
func (w *wire) takeFrame(length int) ([]byte, error) {
	if 4+length <= w.in.Size() {
		frame, err := w.in.Peek(4 + length)
		if err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		_, err = w.in.Discard(4 + length)
		return frame[4:], err
	}
	frame := make([]byte, 4+length)
	if _, err := io.ReadFull(w.in, frame); err != nil {
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
