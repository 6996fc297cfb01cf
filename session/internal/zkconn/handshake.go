package zkconn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// writeConnectRequest writes the request for the session in place of the library's own: with the timeout as asked
// for, and with the session as the Conn knows it.
func (w *wire) writeConnectRequest() error {
	c := w.conn
	c.mu.Lock()
	ask := jute.ConnectRequest{
		LastZxidSeen: c.lastZxid, Timeout: int32(c.cfg.Timeout / time.Millisecond), SessionID: c.session.id, Password: c.session.password,
	}
	w.askedAt = time.Now()
	c.mu.Unlock()
	if ask.Password == nil {
		ask.Password = make([]byte, passwordLength)
	}
	return w.write(encode(&ask))
}

// handshake takes the connection from the answer to the request for the session to Up: the session
// is this one, its credentials are presented, its watches are armed again. Then the library may
// have it.
func (w *wire) handshake() (err error) {
	defer w.guard("connecting", &err)
	if err := w.identify(); err != nil {
		return err
	}
	if w.conn.leaving() {
		return w.closeSession()
	}
	for _, cred := range w.conn.cfg.Auth {
		if err := w.present(cred); err != nil {
			return err
		}
	}
	if err := w.rearm(); err != nil {
		return err
	}
	if err := w.raw.SetDeadline(time.Time{}); err != nil {
		return err
	}
	w.forLibrary = responseForLibrary(w.response.SessionID, w.response.Timeout)
	if !w.conn.goUp(w) {
		return w.closeSession()
	}
	w.conn.log.Debug("connected to ZooKeeper", "server", w.at.server, "address", w.at.address, "timeout", w.response.Timeout)
	if w.slow {
		return w.ping() // the library's first comes after a third of the timeout: the answer might be too late
	}
	return nil
}

// readConnectResponse reads the answer to the request for the session.
func (w *wire) readConnectResponse() (response jute.ConnectResponse, err error) {
	head, err := w.in.Peek(4)
	if err != nil {
		return response, fmt.Errorf("read: %w", err)
	}
	length := int(int32(binary.BigEndian.Uint32(head)))
	if length < 0 || length > smallBuffer {
		return response, fmt.Errorf("%w: its length is %d", errMalformed, length)
	}
	frame, err := w.takeFrame(length)
	if err != nil {
		return response, err
	}
	if err := response.Decode(jute.NewReader(frame)); err != nil {
		return response, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return response, nil
}

// identify compares the session that the server gave with the one that was asked for.
func (w *wire) identify() error {
	c, response := w.conn, &w.response
	c.mu.Lock()
	known := c.session.id
	c.mu.Unlock()
	switch {
	case response.SessionID == 0 && known == 0:
		return errNotAccepted
	case response.SessionID == 0:
		c.end(ErrExpired)
		return ErrExpired
	case known != 0 && response.SessionID != known:
		c.log.Warn("ZooKeeper server handed out another session", "server", w.at.server, "address", w.at.address)
		_ = w.exchange(closeFrame(), xidClose) // nobody wants it; left alone it expires
		c.end(ErrReplaced)
		return ErrReplaced
	case response.Timeout <= 0:
		return fmt.Errorf("%w: a session timeout of %d ms", errMalformed, response.Timeout)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w.created = known == 0
	c.session = identity{
		id: response.SessionID, password: response.Password, timeout: time.Duration(response.Timeout) * time.Millisecond,
	}
	return nil
}

// leaving tells whether the session is to be closed as soon as there is a connection.
func (c *Conn) leaving() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing
}

// goUp begins to take requests; false if Close has come first.
func (c *Conn) goUp(w *wire) (up bool) {
	c.tell(func() {
		if up = !c.closing; !up || w.dead != nil || c.cause != nil {
			return
		}
		if !errors.Is(c.trouble, ErrAuthRequired) { // that is known to be over by an answer only
			c.complained, c.trouble = false, nil
		}
		c.wire, w.since, w.patience = w, time.Now(), c.session.timeout*2/3
		w.slow = w.stall.slowest >= c.session.timeout/hasteShare
		w.watch()
		c.outbox = append(c.outbox, Up{
			SessionID: c.session.id, Timeout: c.session.timeout, Server: w.at.server, Address: w.at.address, Asked: w.askedAt, Created: w.created,
		})
		for _, ev := range w.early {
			c.fire(ev)
		}
		w.early = nil
	})
	return up
}
