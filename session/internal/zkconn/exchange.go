package zkconn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// present shows the server a credential.
func (l *line) present(cred Credential) error {
	ask := jute.Request{Xid: jute.XidAuth, Op: jute.OpSetAuth, Scheme: cred.Scheme, Data: cred.Secret}
	err := l.exchange(encode(&ask), jute.XidAuth)
	if _, refused := errors.AsType[jute.Code](err); refused {
		l.conn.log.Warn("ZooKeeper server refused a credential", "server", l.at.server, "address", l.at.address, "scheme", cred.Scheme)
		l.conn.refused()
		return ErrAuthFailed
	}
	return err
}

// rearm arms the watches of the connections before. What changed meanwhile is fired by the server
// at once.
func (l *line) rearm() error {
	c := l.conn
	asks := c.rearming()
	for i := range asks {
		if err := l.exchange(encode(&asks[i]), jute.XidSetWatches); err != nil {
			c.log.Warn("ZooKeeper server did not arm the watches again", "server", l.at.server, "address", l.at.address, "cause", err)
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

// farewell closes the session over a connection that has just been made for that.
func (l *line) farewell() error {
	if err := l.exchange(closeFrame(), xidFarewell); err != nil {
		return err
	}
	l.conn.confirmClosed()
	return errClosed
}

// exchange sends a frame of our own and waits for its answer; an error in that is a jute.Code.
// Events on the way are kept for later.
func (l *line) exchange(frame []byte, xid int32) error {
	if err := l.raw.SetDeadline(time.Now().Add(2 * l.limit)); err != nil {
		return err
	}
	if err := l.write(frame); err != nil {
		return err
	}
	for {
		head, err := l.in.Peek(4)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		length := int(int32(binary.BigEndian.Uint32(head)))
		if length < headerLength || length > l.conn.cfg.maxAnswer() {
			return fmt.Errorf("%w: its length is %d", errMalformed, length)
		}
		body, err := l.takeFrame(length)
		if err != nil {
			return err
		}
		var answer jute.Reply
		if err := answer.DecodeHeader(jute.NewReader(body)); err != nil {
			return err
		}
		if answer.Err == jute.SessionClosedNoAuth {
			return l.unauthenticated()
		}
		switch answer.Xid {
		case xid:
			return answer.Err.Err()
		case jute.XidEvent:
			ev, err := decodeEvent(body)
			if err != nil {
				return err
			}
			l.early = append(l.early, ev)
		default:
			return fmt.Errorf("%w: its xid is %d", errMalformed, answer.Xid)
		}
	}
}

func encode(ask *jute.Request) []byte {
	w := jute.NewWriter(nil)
	w.Begin()
	ask.Encode(w)
	w.End()
	return w.Bytes()
}

func closeFrame() []byte { return encode(&jute.Request{Xid: xidFarewell, Op: jute.OpCloseSession}) }
