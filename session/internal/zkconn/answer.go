package zkconn

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// answer takes the answer to a request, of which the header is decoded.
func (l *line) answer(answer jute.Reply, length int) error {
	r, err := l.asked(answer.Xid)
	switch {
	case err != nil:
		return err
	case answer.Err == jute.SessionClosedNoAuth:
		return ErrAuthRequired
	case undecided(answer.Err):
		return fmt.Errorf("the server gave up a request: %w", answer.Err)
	}
	r.reply = answer
	if err := l.decode(r, length); err != nil {
		return err
	}
	if err := l.settle(r); err != nil {
		return err
	}
	r.answered.Close()
	return nil
}

// asked is the request of that number, which is not awaited any more; with an error if there is
// none, or it is not the one whose answer was to come.
func (l *line) asked(xid int32) (*request, error) {
	l.conn.mu.Lock()
	defer l.conn.mu.Unlock()
	r, err := l.order.answered(xid)
	if err == nil {
		l.silence.took(time.Since(r.sentAt))
	}
	return r, err
}

// decode takes the frame of an answer off the reader. One that is too large to be held in memory is
// read over.
func (l *line) decode(r *request, length int) error {
	if length > l.conn.cfg.maxAnswer() {
		if _, err := l.in.Discard(4 + length); err != nil {
			return fmt.Errorf("read: %w", err)
		}
		r.reply.Err = codeTooLarge
		return nil
	}
	frame, err := l.takeFrame(length)
	if err != nil {
		return err
	}
	if err := r.reply.DecodeBody(jute.NewReader(frame[headerLength:]), r.ask.Op); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	for _, part := range r.reply.Results { // the answer as a whole is a success even then
		if undecided(part.Err) {
			return fmt.Errorf("the server gave up a transaction: %w", part.Err)
		}
	}
	return nil
}

// settle notes what an answer says of the server and of the session, and tells it.
func (l *line) settle(r *request) (err error) {
	c := l.conn
	c.tell(func() {
		if err = l.dead; err != nil {
			return
		}
		l.useful, c.complained, c.trouble = true, false, nil
		c.large.took(r.size)
		c.usual.took(r)
		c.lastZxid = max(c.lastZxid, r.reply.Zxid)
		if r.ask.Watch {
			c.watches.arm(r)
		}
		if r.reply.Err == jute.OK && proves(r.ask.Op) {
			c.outbox = append(c.outbox, Proved{Sent: r.sentAt, Write: r.ask.Op.Writes()})
		} else if l.tellsOfLife(r.sentAt) {
			c.outbox = append(c.outbox, Heard{Sent: r.sentAt})
		}
	})
	return err
}
