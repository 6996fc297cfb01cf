package zkconn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// greet writes the request for the session in place of the library's own: with the timeout as asked
// for, and with the session as the Conn knows it.
func (l *line) greet() error {
	c := l.conn
	c.mu.Lock()
	ask := jute.ConnectRequest{
		LastZxidSeen: c.lastZxid, Timeout: int32(c.cfg.Timeout / time.Millisecond), SessionID: c.session.id, Password: c.session.password,
	}
	l.askedAt = time.Now()
	c.mu.Unlock()
	if ask.Password == nil {
		ask.Password = make([]byte, passwordLength)
	}
	w := jute.NewWriter(nil)
	w.Begin()
	ask.Encode(w)
	w.End()
	return l.write(w.Bytes())
}

// shakeHands takes the connection from the answer to the request for the session to Up: the session
// is this one, its credentials are presented, its watches are armed again. Then the library may
// have it.
func (l *line) shakeHands() (err error) {
	defer l.guard("connecting", &err)
	if err := l.identify(); err != nil {
		return err
	}
	if l.conn.leaving() {
		return l.farewell()
	}
	for _, cred := range l.conn.cfg.Auth {
		if err := l.present(cred); err != nil {
			return err
		}
	}
	if err := l.rearm(); err != nil {
		return err
	}
	if err := l.raw.SetDeadline(time.Time{}); err != nil {
		return err
	}
	l.forLibrary = welcomeFrame(l.welcome.SessionID, l.welcome.Timeout)
	if !l.conn.goUp(l) {
		return l.farewell()
	}
	l.conn.log.Debug("connected to ZooKeeper", "server", l.at.server, "address", l.at.address, "timeout", l.welcome.Timeout)
	if l.far {
		return l.ping() // the library's first comes after a third of the timeout: the answer might be too late
	}
	return nil
}

// readReply reads the answer to the request for the session.
func (l *line) readReply() (welcome jute.ConnectResponse, err error) {
	head, err := l.in.Peek(4)
	if err != nil {
		return welcome, fmt.Errorf("read: %w", err)
	}
	length := int(int32(binary.BigEndian.Uint32(head)))
	if length < 0 || length > smallBuffer {
		return welcome, fmt.Errorf("%w: its length is %d", errMalformed, length)
	}
	frame, err := l.takeFrame(length)
	if err != nil {
		return welcome, err
	}
	if err := welcome.Decode(jute.NewReader(frame)); err != nil {
		return welcome, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return welcome, nil
}

// identify compares the session that the server gave with the one that was asked for.
func (l *line) identify() error {
	c, welcome := l.conn, &l.welcome
	c.mu.Lock()
	known := c.session.id
	c.mu.Unlock()
	switch {
	case welcome.SessionID == 0 && known == 0:
		return errNotAccepted
	case welcome.SessionID == 0:
		c.end(ErrExpired)
		return ErrExpired
	case known != 0 && welcome.SessionID != known:
		c.log.Warn("ZooKeeper server handed out another session", "server", l.at.server, "address", l.at.address)
		_ = l.exchange(closeFrame(), xidFarewell) // nobody wants it; left alone it expires
		c.end(ErrReplaced)
		return ErrReplaced
	case welcome.Timeout <= 0:
		return fmt.Errorf("%w: a session timeout of %d ms", errMalformed, welcome.Timeout)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l.created = known == 0
	c.session = identity{
		id: welcome.SessionID, password: welcome.Password, timeout: time.Duration(welcome.Timeout) * time.Millisecond,
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
func (c *Conn) goUp(l *line) (up bool) {
	c.tell(func() {
		if up = !c.closing; !up || l.dead != nil || c.cause != nil {
			return
		}
		if !errors.Is(c.trouble, ErrAuthRequired) { // that is known to be over by an answer only
			c.complained, c.trouble = false, nil
		}
		c.line, l.since, l.quiet = l, time.Now(), c.session.timeout*2/3
		l.far = l.silence.slowest >= c.session.timeout/hasteShare
		l.watch()
		c.outbox = append(c.outbox, Up{
			SessionID: c.session.id, Timeout: c.session.timeout, Server: l.at.server, Address: l.at.address, Asked: l.askedAt, Created: l.created,
		})
		for _, ev := range l.early {
			c.fire(ev)
		}
		l.early = nil
	})
	return up
}
