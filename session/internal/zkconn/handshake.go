package zkconn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// handshake takes a connection from the connect request to Up. Until then no other goroutine uses
// the connection.
type handshake struct {
	socket   *socket
	askedAt  time.Time // when the connect request was sent. Under mu
	response jute.ConnectResponse
	created  bool         // the session was created by that
	early    []jute.Event // received meanwhile; delivered right after the Up
	zxid     int64        // of the last reply to an exchange
}

// mostQuoted is how many bytes are quoted of an answer that no ZooKeeper server gives.
const mostQuoted = 40

func (h *handshake) requestSession(ask *jute.ConnectRequest, limit time.Duration) error {
	defer h.socket.link.within(limit).Stop()
	if err := h.socket.link.write(encode(ask)); err != nil {
		return err
	}
	length, err := h.socket.link.peekLength()
	if err != nil {
		return err
	}
	if length > smallBuffer {
		first, _ := h.socket.link.in.Peek(min(h.socket.link.in.Buffered(), mostQuoted))
		return fmt.Errorf("%w: this does not speak ZooKeeper: %q", errMalformed, first)
	}
	frame, err := h.socket.link.readFrame(length)
	if err != nil {
		return err
	}
	if err := h.response.Decode(jute.NewReader(frame)); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	return nil
}

// begin returns the request for the session that the Conn has, or for a new one, which may exist
// from then on. It fails if no session is wanted any more, or another attempt has it.
func (k *connector) begin(h *handshake) (ask jute.ConnectRequest, err error) {
	c := k.core
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.session
	if k.won != nil || c.over() && s.id == 0 {
		return ask, errClosed
	}
	c.asking++
	h.askedAt = time.Now()
	if h.socket.at.asked.IsZero() {
		h.socket.at.asked = h.askedAt
	}
	ask = jute.ConnectRequest{LastZxidSeen: s.zxid, Timeout: int32(c.cfg.Timeout.Milliseconds()), SessionID: s.id, Password: s.password}
	if s.id == 0 {
		ask.Password = make([]byte, passwordLength)
	}
	return ask, nil
}

// run goes on from the reply to the connect request: it checks the session, presents the
// credentials, and arms the watches again.
func (h *handshake) run() (err error) {
	c := h.socket.conn
	defer guard(h.socket.link.log, "connecting", &err)
	if err := h.identify(); err != nil {
		return err
	}
	if c.isClosing() {
		return h.closeSession()
	}
	for _, cred := range c.cfg.Auth {
		if err := h.present(cred); err != nil {
			return err
		}
	}
	if err := h.rearm(); err != nil {
		return err
	}
	slow, after, err := h.goUp()
	switch {
	case err == errClosed:
		return h.closeSession()
	case err != nil:
		return err
	}
	h.socket.logUp(after)
	if slow {
		return h.socket.ping() // the first one otherwise, after a third of the timeout, may be answered too late
	}
	return nil
}

// identify compares the session in the reply with the one that was asked for.
func (h *handshake) identify() error {
	c, response := h.socket.conn, &h.response
	known := c.identity().ID
	switch {
	case response.SessionID == 0 && known == 0:
		return errNotAccepted
	case response.SessionID == 0:
		c.end(ErrExpired)
		return ErrExpired
	case known != 0 && response.SessionID != known:
		h.socket.link.log.Warn("ZooKeeper server handed out another session")
		_ = h.exchange(closeFrame(), xidClose) // if it fails, that session expires
		c.end(ErrReplaced)
		return ErrReplaced
	case response.Timeout <= 0:
		return fmt.Errorf("%w: a session timeout of %d ms", errMalformed, response.Timeout)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h.created = known == 0
	s := &c.session
	s.id, s.password, s.timeout = response.SessionID, response.Password, time.Duration(response.Timeout)*time.Millisecond
	return nil
}

func (h *handshake) present(cred Credential) error {
	ask := jute.Request{Xid: jute.XidAuth, Op: jute.OpSetAuth, Scheme: cred.Scheme, Data: cred.Secret}
	err := h.exchange(encode(&ask), jute.XidAuth)
	if _, refused := errors.AsType[jute.Code](err); refused {
		h.socket.link.log.Warn("ZooKeeper server refused a credential", "scheme", cred.Scheme)
		h.socket.conn.refused()
		return ErrAuthFailed
	}
	return err
}

// rearm arms the watches of earlier connections. The server at once sends the events of those whose
// znodes have changed meanwhile.
func (h *handshake) rearm() error {
	c := h.socket.conn
	c.mu.Lock()
	asks := c.setWatches(c.session.zxid, c.watches)
	c.mu.Unlock()
	for i := range asks {
		if err := h.exchange(encode(&asks[i]), jute.XidSetWatches); err != nil {
			h.socket.link.log.Warn("ZooKeeper server did not arm the watches again", "cause", err)
			return fmt.Errorf("arm the watches again: %w", err)
		}
	}
	return nil
}

// goUp begins to take requests. The error is errClosed if the session is to be closed instead.
// slow: the connection would be taken for stalled unless it is pinged soon. after is how long there
// was no connection, if that was logged.
func (h *handshake) goUp() (slow bool, after time.Duration, err error) {
	c := h.socket.conn
	c.update(func() {
		switch {
		case c.life.Err() != nil:
			err = errAbandoned
		case h.socket.dead != nil:
			err = h.socket.dead
		case c.over():
			err = errClosed
		}
		if err != nil {
			return
		}
		if !errors.Is(c.outage.trouble, ErrAuthRequired) { // only the reply to a request shows that this is over
			after = c.outageOver()
			for _, s := range c.servers {
				s.trouble = nil
			}
		}
		h.socket.taking, h.socket.refuse = context.WithCancel(c.taking)
		h.socket.since, h.socket.link.patience = time.Now(), c.session.timeout*2/3
		slow = h.socket.slowest >= c.session.timeout/hasteShare
		c.group.near.Store(false) // this server may be far away
		clear(c.roots)
		h.socket.detectStalls()
		c.events = append(c.events, Up{
			SessionID: c.session.id, Timeout: c.session.timeout, Server: h.socket.at.server, Address: h.socket.at.address, Asked: h.askedAt, Created: h.created,
		})
		for _, ev := range h.early {
			c.fire(ev.Type, ev.Path)
		}
	})
	return slow, after, err
}

// closeSession closes the session, on a connection that was made for that.
func (h *handshake) closeSession() error {
	if err := h.exchange(closeFrame(), xidClose); err != nil {
		return err
	}
	h.socket.conn.end(errClosed)
	return errClosed
}

func closeFrame() []byte { return encode(&jute.Request{Xid: xidClose, Op: jute.OpCloseSession}) }

// exchange sends a frame and waits for its reply. The error code of the reply is returned as a
// jute.Code. Events that come before the reply are kept.
func (h *handshake) exchange(frame []byte, xid int32) error {
	defer h.socket.link.within(2 * h.socket.limit).Stop()
	if err := h.socket.link.write(frame); err != nil {
		return err
	}
	for {
		reply, length, err := h.socket.link.peekReply()
		if err != nil {
			return err
		}
		body, err := h.socket.link.readFrame(length)
		if err != nil {
			return err
		}
		switch {
		case reply.Err == jute.SessionClosedNoAuth:
			return h.socket.unauthenticated()
		case reply.Xid == xid:
			h.zxid = reply.Zxid
			return reply.Err.Err()
		case reply.Xid != jute.XidEvent:
			return fmt.Errorf("%w: its xid is %d", errMalformed, reply.Xid)
		}
		ev, err := decodeEvent(body)
		if err != nil {
			return err
		}
		h.early = append(h.early, ev)
	}
}
