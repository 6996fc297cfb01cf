package link

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/internal/jute"
)

// answer looks at a reply before the library does.
func (l *line) answer(answer jute.Reply, length int) error {
	r, lost := l.asked(answer.Xid)
	switch {
	case lost != nil:
		return lost
	case r == nil:
		return fmt.Errorf("%w: an answer to nothing, xid %d", errMalformed, answer.Xid)
	case answer.Err == jute.SessionClosedNoAuth:
		return ErrAuthRequired
	case undecided(answer.Err):
		return fmt.Errorf("the server gave up a request: %w", answer.Err)
	case r.answered != nil:
		return l.deliver(r, answer, length)
	case length > l.conn.cfg.maxAnswer():
		return l.swallow(r, answer, length)
	}
	l.current, r.code, r.zxid = r, answer.Err, answer.Zxid
	l.rest = 4 + length
	if answer.Err == jute.OK {
		return l.check(r.op, length)
	}
	return nil
}

// asked is the request of that number, which is not pending any more; with an error if it is not
// the one whose answer was to come.
func (l *line) asked(xid int32) (r *request, lost error) {
	l.conn.mu.Lock()
	defer l.conn.mu.Unlock()
	if r = l.pending[xid]; r != nil {
		delete(l.pending, xid)
		lost = l.order.answered(xid)
		l.silence.took(time.Since(r.sentAt))
	}
	return r, lost
}

// swallow reads over an answer that is too large to be taken, and gives the library an error in its
// place.
func (l *line) swallow(r *request, answer jute.Reply, length int) error {
	if _, err := l.in.Discard(4 + length); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	answer.Err = codeTooLarge
	w := jute.NewWriter(nil)
	w.Begin()
	answer.Encode(w, r.op)
	w.End()
	r.code, r.zxid = answer.Err, answer.Zxid
	l.current, l.held, l.rest = r, w.Bytes(), w.Len()
	return nil
}

// check refuses answers at which the library would panic, or allocate what was never sent: it takes
// lengths and counts at their word.
func (l *line) check(op jute.Op, length int) error {
	room := length - headerLength
	switch op {
	case jute.OpMulti:
		frame, err := l.takeFrame(length)
		if err != nil {
			return err
		}
		var answer jute.Reply
		if err := answer.DecodeBody(jute.NewReader(frame[headerLength:]), op); err != nil {
			return fmt.Errorf("%w: %w", errMalformed, err)
		}
		if err := givenUp(&answer); err != nil {
			return err
		}
		l.held = append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+length), uint32(length)), frame...)
		return nil
	case jute.OpGetChildren2, jute.OpGetACL, jute.OpGetData, jute.OpCreate, jute.OpCreateContainer, jute.OpCreateTTL, jute.OpSync:
		if room < 4 {
			return fmt.Errorf("%w: an answer of %d bytes", errMalformed, length)
		}
		head, err := l.in.Peek(4 + headerLength + 4)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		least := 1
		if op == jute.OpGetChildren2 || op == jute.OpGetACL {
			least = 4
		}
		if n := int(int32(binary.BigEndian.Uint32(head[4+headerLength:]))); n < -1 || n > (room-4)/least {
			return fmt.Errorf("%w: %d things in %d bytes", errMalformed, n, length)
		}
	case jute.OpExists, jute.OpSetData, jute.OpSetACL:
		if room < statLength {
			return fmt.Errorf("%w: an answer of %d bytes", errMalformed, length)
		}
	}
	return nil
}

// givenUp tells of a transaction that failed since the server does not know the session, or no
// more: the answer as a whole is a success even then.
func givenUp(answer *jute.Reply) error {
	for _, part := range answer.Results {
		if undecided(part.Err) {
			return fmt.Errorf("the server gave up a transaction: %w", part.Err)
		}
	}
	return nil
}

// roomForAnswers sizes the library's receive buffer, which belongs to its receiving goroutine: it
// is allocated at the size that the limit has when that goroutine begins, so the limit is small
// until then.
func (c *Conn) roomForAnswers(limit int) { zk.WithMaxBufferSize(limit)(c.zk) }
