package zkserver

import (
	"errors"
	"net"
	"time"
)

// The pauses of a front that cannot accept, as when the process has no file descriptor left. They
// are those of net/http.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = time.Second
)

// accept serves every client that connects, until the listener is closed. Any other error is taken
// to pass.
func (f *Front) accept(l net.Listener) {
	pause := time.Duration(0)
	for {
		transport, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			f.take(transport)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			pause = min(max(2*pause, firstPause), longestPause)
			f.s.cfg.Logger.Warn("cannot accept a connection", "address", l.Addr().String(), "err", err, "again in", pause)
			if !rest(pause, f.s.closing) {
				return
			}
		}
	}
}

// rest waits for a time; false if end is closed before.
func rest(d time.Duration, end <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-end:
		return false
	}
}

// take begins to serve a connection, or closes it.
func (f *Front) take(transport net.Conn) {
	err := f.attach(transport, nil, "")
	if err == nil {
		return
	}
	if tcp, ok := transport.(*net.TCPConn); ok && errors.Is(err, errTooMany) {
		_ = tcp.SetLinger(0) // a reset, as the real server has it
	}
	_ = transport.Close() // no client is served here any more
}

// admits reports whether a client may have one more connection to this front (maxClientCnxns). The
// caller holds the lock.
func (f *Front) admits(newcomer *conn) bool {
	limit := f.s.cfg.MaxConnections
	if limit == 0 {
		return true
	}
	count := 0
	for c := range f.conns {
		if !c.ended && c.origin() == newcomer.origin() {
			count++
		}
	}
	return count < limit
}

// origin is the machine that a connection comes from: a name given to it, or its address.
func (c *conn) origin() string {
	if c.host != "" {
		return c.host
	}
	host, _, _ := net.SplitHostPort(c.transport.RemoteAddr().String()) // else none
	return host
}

// sessionless is how long the real server keeps a connection without a session that sends nothing
// (zookeeper.nio.sessionlessCnxnTimeout). It checks at whole multiples of this time, so that a
// connection has up to twice as long.
const sessionless = 10 * time.Second

// expect has the connection closed if it has no session in time, counted anew from each call. The
// caller holds the lock.
func (c *conn) expect() {
	past := time.Since(c.s.started)
	left := (past + sessionless).Truncate(sessionless) + sessionless - past
	if c.overdue != nil {
		c.overdue.Reset(left)
		return
	}
	c.overdue = c.s.after(left, func() {
		if c.session == nil {
			c.abort()
		}
	})
}
