package link

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// Read gives the library what is for it: the answers to its requests and pings, frame by frame.
func (l *line) Read(p []byte) (n int, err error) {
	defer l.guard("reading", &err)
	if !l.open {
		return l.readWelcome(p)
	}
	if !l.roomy {
		l.roomy = true
		l.conn.roomForAnswers(l.conn.cfg.maxAnswer() + 4)
	}
	for l.rest == 0 {
		if err := l.next(); err != nil {
			l.lose(err)
			return 0, err
		}
	}
	if n, err = l.pass(p); err != nil {
		l.lose(fmt.Errorf("read: %w", err))
	}
	return n, err
}

// pass hands on a part of the current frame. An answer counts when its last byte is passed on, and
// not at all if the line was lost before.
func (l *line) pass(p []byte) (n int, err error) {
	p = p[:min(len(p), l.rest)]
	if len(l.held) > 0 {
		n = copy(p, l.held)
		l.held = l.held[n:]
	} else {
		n, err = l.in.Read(p)
	}
	l.rest -= n
	if l.rest > 0 || err != nil {
		return n, err
	}
	l.held = nil
	if r := l.current; r != nil {
		l.current = nil
		return n, l.settle(r)
	}
	return n, nil
}

// next deals with the frame in front of the reader, and returns with rest > 0 if it is for the
// library.
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
	case answer.Xid == jute.XidPing:
		l.rest = 4 + length
		return l.ponged()
	}
	frame, err := l.takeFrame(length)
	if err != nil {
		return err
	}
	return l.aside(answer.Xid, frame)
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

// aside deals with what is not for the library.
func (l *line) aside(xid int32, frame []byte) error {
	switch {
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

// takeFrame takes a whole frame off the reader; what it returns begins with the header.
func (l *line) takeFrame(length int) ([]byte, error) {
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

// settle: the answer has come, whole.
func (l *line) settle(r *request) (err error) {
	c := l.conn
	c.tell(func() {
		if err = l.dead; err != nil {
			return
		}
		l.useful, c.complained, c.trouble = true, false, nil
		c.large.took(r.size)
		c.usual.took(r)
		c.lastZxid = max(c.lastZxid, r.zxid)
		if r.watch {
			c.watches.arm(r)
		}
		if r.code == jute.OK && proves(r.op) {
			c.outbox = append(c.outbox, Proved{Sent: r.sentAt, Write: r.op.Writes()})
		} else if l.tellsOfLife(r.sentAt) {
			c.outbox = append(c.outbox, Heard{Sent: r.sentAt})
		}
	})
	return err
}
