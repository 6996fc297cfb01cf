package zkconn

import (
	"fmt"
	"io"
	"path"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// receive handles one frame of the server after the other, until the connection is lost.
func (w *socket) receive() (err error) {
	defer guard(w.link.log, "receive", &err)
	for err == nil {
		err = w.receiveFrame()
	}
	return err
}

func (w *socket) receiveFrame() error {
	reply, length, err := w.link.peekReply()
	switch {
	case err != nil:
		return err
	case reply.Xid >= 0:
		return w.receiveReply(reply, length)
	case reply.Err == jute.SessionClosedNoAuth:
		return w.unauthenticated()
	}
	frame, err := w.link.readFrame(length)
	if err != nil {
		return err
	}
	switch {
	case reply.Xid == jute.XidPing:
		return w.receivePong()
	case reply.Xid == jute.XidEvent:
		return w.receiveEvent(frame)
	case reply.Xid == xidClose && w.conn.isClosing():
		w.conn.end(errClosed)
		return io.EOF
	default:
		return fmt.Errorf("%w: its xid is %d", errMalformed, reply.Xid)
	}
}

func (w *socket) receiveEvent(frame []byte) error {
	ev, err := decodeEvent(frame)
	if err == nil {
		w.conn.update(func() {
			if w.dead == nil {
				w.conn.fire(ev.Type, ev.Path)
			}
		})
	}
	return err
}

// fire adds the event of a watch, which is disarmed by that. It fires the watch of the children of
// a tree's root too, of which the tree's does not tell. Under mu.
func (c *core) fire(kind jute.EventType, at string) {
	c.disarm(jute.Event{Type: kind, Path: at})
	switch kind {
	case jute.NodeCreated, jute.NodeDeleted, jute.NodeDataChanged, jute.NodeChildrenChanged:
		c.events = append(c.events, Fired{kind, at})
	}
	if above := path.Dir(at); c.roots[above] > 0 && (kind == jute.NodeCreated || kind == jute.NodeDeleted) {
		c.fire(jute.NodeChildrenChanged, above)
	}
}

func (w *socket) receivePong() (err error) {
	w.conn.update(func() {
		if len(w.order) > 0 {
			w.took(time.Since(w.order[0].sentAt))
		}
		var sent time.Time
		if sent, err = w.ponged(); err == nil && w.dead == nil && !sent.IsZero() {
			w.conn.events = append(w.conn.events, Heard{Sent: sent})
		}
	})
	return err
}

// receiveReply handles the reply to a request. Its header is decoded.
func (w *socket) receiveReply(reply jute.Reply, length int) error {
	if undecided(reply.Err) { // the request stays among those that are not answered
		return fmt.Errorf("the server gave up a request: %w", reply.Err)
	}
	r, took, err := w.next(reply.Xid)
	if err != nil {
		return err
	}
	err = ErrAuthRequired
	if reply.Err != jute.SessionClosedNoAuth {
		r.reply = reply
		err = w.decode(r, length)
	}
	w.conn.cfg.Counts.over(r, took, err != nil)
	if err != nil {
		return err
	}
	if err := w.settle(r); err != nil {
		return err
	}
	r.answered.Close()
	if seen := w.conn.cfg.Seen; seen != 0 && r.reply.Err == jute.OK && r.ask.Op.Writes() && r.reply.Zxid <= seen {
		w.conn.dataLost(seen, r.reply.Zxid)
	}
	return nil
}

// next takes the request of a reply out of the queue, and tells how long the reply took. It is an
// error if the reply to another one should have come first.
func (w *socket) next(xid int32) (r *request, took time.Duration, err error) {
	w.conn.mu.Lock()
	defer w.conn.mu.Unlock()
	r, err = w.answered(xid)
	if err == nil {
		took = time.Since(r.sentAt)
		w.took(took)
		w.conn.group.near.CompareAndSwap(false, took < 4*moment)
	}
	return r, took, err
}

// decode reads a reply. One that is too large is skipped, and only its request fails.
func (w *socket) decode(r *request, length int) error {
	if length > w.conn.maxReply() {
		if _, err := w.link.in.Discard(4 + length); err != nil {
			return err
		}
		r.reply.Err = codeTooLarge
		return nil
	}
	frame, err := w.link.readFrame(length)
	if err != nil {
		return err
	}
	if body := jute.NewReader(frame[headerLength:]); len(r.ask.Ops) > 0 {
		err = r.reply.DecodeMulti(body, len(r.ask.Ops))
	} else {
		err = r.reply.DecodeBody(body, r.ask.Op)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	wrong := r.reply.Err == jute.OK && misnamed(&r.ask, r.reply.Path)
	for i, part := range r.reply.Results { // the reply to the transaction as a whole may be OK nevertheless
		if undecided(part.Err) {
			return fmt.Errorf("the server gave up a transaction: %w", part.Err)
		}
		wrong = wrong || part.Op != jute.OpError && misnamed(&r.ask.Ops[i], part.Path)
	}
	if wrong {
		return fmt.Errorf("%w: what was created has another name than was asked for", errMalformed)
	}
	return nil
}

// settle takes in what a reply says about the server and the session, and adds the event for that.
func (w *socket) settle(r *request) (err error) {
	c := w.conn
	var after time.Duration
	c.update(func() {
		if err = w.dead; err != nil {
			return
		}
		w.replied, after = true, c.outageOver()
		c.sizes.took(r.size)
		if r.reply.Err == jute.Unimplemented {
			c.lacking[r.ask.Op] = true
		}
		c.session.zxid = max(c.session.zxid, r.reply.Zxid)
		if r.ask.Watch {
			c.arm(r)
		}
		c.rootSettled(r)
		if r.reply.Err == jute.OK && proves(r.ask.Op) {
			c.events = append(c.events, Proved{Sent: r.sentAt, Write: r.ask.Op.Writes()})
		} else if w.tellsOfLife(r.sentAt) {
			c.events = append(c.events, Heard{Sent: r.sentAt})
		}
		if r.told != nil {
			c.events = append(c.events, Answered{r.told})
		}
	})
	if after > 0 { // it is known only now that the server takes requests
		w.logUp(after)
	}
	return err
}

// proves tells whether the reply to a request comes from the leader.
func proves(op jute.Op) bool { return op == jute.OpSync || op.Writes() }

func encode(message interface{ Encode(to *jute.Writer) }) []byte {
	frame := jute.NewWriter(nil)
	frame.Begin()
	message.Encode(frame)
	frame.End()
	return frame.Bytes()
}

func decodeEvent(frame []byte) (ev jute.Event, err error) {
	r := jute.NewReader(frame[headerLength:])
	if ev.Decode(r); r.Err() != nil {
		return ev, fmt.Errorf("%w: %w", errMalformed, r.Err())
	}
	return ev, nil
}
