package zkconn

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// answer takes the answer to a request, of which the header is decoded.
func (w *wire) answer(answer jute.Reply, length int) error {
	r, err := w.asked(answer.Xid)
	switch {
	case err != nil:
		return err
	case answer.Err == jute.SessionClosedNoAuth:
		return ErrAuthRequired
	case undecided(answer.Err):
		return fmt.Errorf("the server gave up a request: %w", answer.Err)
	}
	r.reply = answer
	if err := w.decode(r, length); err != nil {
		return err
	}
	if err := w.settle(r); err != nil {
		return err
	}
	r.answered.Close()
	return nil
}

// asked is the request of that number, which is not awaited any more; with an error if there is
// none, or it is not the one whose answer was to come.
func (w *wire) asked(xid int32) (*request, error) {
	w.conn.mu.Lock()
	defer w.conn.mu.Unlock()
	r, err := w.order.answered(xid)
	if err == nil {
		w.stall.took(time.Since(r.sentAt))
	}
	return r, err
}

// decode takes the frame of an answer off the reader. One that is too large to be held in memory is
// read over.
func (w *wire) decode(r *request, length int) error {
	if length > w.conn.cfg.maxAnswer() {
		if _, err := w.in.Discard(4 + length); err != nil {
			return fmt.Errorf("read: %w", err)
		}
		r.reply.Err = codeTooLarge
		return nil
	}
	frame, err := w.takeFrame(length)
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
func (w *wire) settle(r *request) (err error) {
	c := w.conn
	c.tell(func() {
		if err = w.dead; err != nil {
			return
		}
		w.replied, c.complained, c.trouble = true, false, nil
		c.large.took(r.size)
		c.knownOps.took(r)
		c.lastZxid = max(c.lastZxid, r.reply.Zxid)
		if r.ask.Watch {
			c.watches.arm(r)
		}
		if r.reply.Err == jute.OK && proves(r.ask.Op) {
			c.outbox = append(c.outbox, Proved{Sent: r.sentAt, Write: r.ask.Op.Writes()})
		} else if w.tellsOfLife(r.sentAt) {
			c.outbox = append(c.outbox, Heard{Sent: r.sentAt})
		}
	})
	return err
}
