package zkconn

import (
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// writeConnectRequest asks for the session that the Conn has, or for a new one.
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

func (w *wire) readConnectResponse() error {
	length, err := w.peekLength()
	if err != nil {
		return err
	}
	if length > smallBuffer {
		return badLength(length)
	}
	frame, err := w.readFrame(length)
	if err != nil {
		return err
	}
	if err := w.response.Decode(jute.NewReader(frame)); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	return nil
}

// handshake takes the connection from the reply to the connect request to Up: it checks the
// session, presents the credentials, and arms the watches again.
func (w *wire) handshake() (err error) {
	defer w.guard("connecting", &err)
	c := w.conn
	if err := w.identify(); err != nil {
		return err
	}
	if c.isClosing() {
		return w.closeSession()
	}
	for _, cred := range c.cfg.Auth {
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
	if !w.goUp() {
		return w.closeSession()
	}
	c.log.Debug("connected to ZooKeeper", "server", w.at.server, "address", w.at.address, "timeout", w.response.Timeout)
	if w.slow {
		return w.ping() // the library's first one, after a third of the timeout, may be answered too late
	}
	return nil
}

// identify compares the session in the reply with the one that was asked for.
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
		_ = w.exchange(closeFrame(), xidClose) // if it fails, that session expires
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

// present presents a credential.
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

// rearm arms the watches of earlier connections. The server at once sends the events of those whose
// znodes have changed meanwhile.
func (w *wire) rearm() error {
	c := w.conn
	c.mu.Lock()
	asks := c.watches.requests(c.lastZxid, c.cfg.MaxPacket)
	c.mu.Unlock()
	for i := range asks {
		if err := w.exchange(encode(&asks[i]), jute.XidSetWatches); err != nil {
			c.log.Warn("ZooKeeper server did not arm the watches again", "server", w.at.server, "address", w.at.address, "cause", err)
			return fmt.Errorf("arm the watches again: %w", err)
		}
	}
	return nil
}

// goUp begins to take requests. It returns false if Close was called before.
func (w *wire) goUp() (up bool) {
	c := w.conn
	c.update(func() {
		over := c.life.Err() != nil || w.dead != nil
		if up = over || !c.over(); over || !up {
			return
		}
		if !errors.Is(c.dialErr, ErrAuthRequired) { // only the reply to a request shows that this is over
			c.warned, c.dialErr = false, nil
		}
		w.since, w.patience = time.Now(), c.session.timeout*2/3
		w.slow = w.stall.slowest >= c.session.timeout/hasteShare
		w.watch()
		c.events = append(c.events, Up{
			SessionID: c.session.id, Timeout: c.session.timeout, Server: w.at.server, Address: w.at.address, Asked: w.askedAt, Created: w.created,
		})
		for _, ev := range w.early {
			w.fire(ev)
		}
		w.early = nil
	})
	return up
}

// closeSession closes the session, on a connection that was made for that.
func (w *wire) closeSession() error {
	if err := w.exchange(closeFrame(), xidClose); err != nil {
		return err
	}
	w.conn.end(errClosed)
	return errClosed
}

func closeFrame() []byte { return encode(&jute.Request{Xid: xidClose, Op: jute.OpCloseSession}) }

// exchange sends a frame and waits for its reply, of which an error is a jute.Code. Events that
// come before it are kept.
func (w *wire) exchange(frame []byte, xid int32) error {
	if err := w.raw.SetDeadline(time.Now().Add(2 * w.limit)); err != nil {
		return err
	}
	if err := w.write(frame); err != nil {
		return err
	}
	for {
		reply, length, err := w.peekReply()
		if err != nil {
			return err
		}
		body, err := w.readFrame(length)
		if err != nil {
			return err
		}
		switch {
		case reply.Err == jute.SessionClosedNoAuth:
			return w.unauthenticated()
		case reply.Xid == xid:
			return reply.Err.Err()
		case reply.Xid != jute.XidEvent:
			return fmt.Errorf("%w: its xid is %d", errMalformed, reply.Xid)
		}
		ev, err := decodeEvent(body)
		if err != nil {
			return err
		}
		w.early = append(w.early, ev)
	}
}
