package zkconn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// present shows the server a credential.
func (w *wire) present(cred Credential) error {
	ask := jute.Request{Xid: jute.XidAuth, Op: jute.OpSetAuth, Scheme: cred.Scheme, Data: cred.Secret}
	err := w.exchange(encode(&ask), jute.XidAuth)
	if _, refused := errors.AsType[jute.Code](err); refused {
		w.conn.log.Warn("ZooKeeper server refused a credential", "server", w.at.server, "address", w.at.address, "scheme", cred.Scheme)
		w.conn.refused()
		return ErrAuthFailed
	}
	return err
}

// rearm arms the watches of the connections before. What changed meanwhile is fired by the server
// at once.
func (w *wire) rearm() error {
	c := w.conn
	asks := c.rearming()
	for i := range asks {
		if err := w.exchange(encode(&asks[i]), jute.XidSetWatches); err != nil {
			c.log.Warn("ZooKeeper server did not arm the watches again", "server", w.at.server, "address", w.at.address, "cause", err)
			return fmt.Errorf("arm the watches again: %w", err)
		}
	}
	return nil
}

func (c *Conn) rearming() []jute.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watches.requests(c.lastZxid, c.cfg.MaxPacket)
}

// closeSession closes the session over a connection that has just been made for that.
func (w *wire) closeSession() error {
	if err := w.exchange(closeFrame(), xidClose); err != nil {
		return err
	}
	w.conn.confirmClosed()
	return errClosed
}

// exchange sends a frame of our own and waits for its answer; an error in that is a jute.Code.
// Events on the way are kept for later.
func (w *wire) exchange(frame []byte, xid int32) error {
	if err := w.raw.SetDeadline(time.Now().Add(2 * w.limit)); err != nil {
		return err
	}
	if err := w.write(frame); err != nil {
		return err
	}
	for {
		head, err := w.in.Peek(4)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		length := int(int32(binary.BigEndian.Uint32(head)))
		if length < headerLength || length > w.conn.cfg.maxAnswer() {
			return fmt.Errorf("%w: its length is %d", errMalformed, length)
		}
		body, err := w.takeFrame(length)
		if err != nil {
			return err
		}
		var answer jute.Reply
		if err := answer.DecodeHeader(jute.NewReader(body)); err != nil {
			return err
		}
		if answer.Err == jute.SessionClosedNoAuth {
			return w.unauthenticated()
		}
		switch answer.Xid {
		case xid:
			return answer.Err.Err()
		case jute.XidEvent:
			ev, err := decodeEvent(body)
			if err != nil {
				return err
			}
			w.early = append(w.early, ev)
		default:
			return fmt.Errorf("%w: its xid is %d", errMalformed, answer.Xid)
		}
	}
}

// encode makes a frame.
func encode(message interface{ Encode(to *jute.Writer) }) []byte {
	frame := jute.NewWriter(nil)
	frame.Begin()
	message.Encode(frame)
	frame.End()
	return frame.Bytes()
}

func closeFrame() []byte { return encode(&jute.Request{Xid: xidClose, Op: jute.OpCloseSession}) }
