package zkconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Close closes the session at the servers, which delete its ephemeral znodes at once, and frees
// everything. No event comes from then on, and no goroutine is left when it returns. If the
// connection is down, Close waits for the next one until ctx ends; the session is then left to
// expire, which the error says. Close returns nil if the session is known to be gone. It may be
// called more than once; the first ctx that ends counts.
func (c *Conn) Close(ctx context.Context) error {
	var tasks sync.WaitGroup
	if w := c.core.beginClosing(); w != nil {
		tasks.Go(func() { // both end at the latest with the socket, which end loses
			_ = w.send(closeFrame())
			c.core.asked.Close()
		})
		tasks.Go(w.loseUnlessClosed)
	}
	select {
	case <-c.core.life.Done():
	case <-ctx.Done():
	}
	c.core.end(errAbandoned)
	c.core.asked.Close()
	tasks.Wait()
	<-c.core.kept.C()
	cause := context.Cause(c.core.life)
	if cause == errClosed || cause == ErrExpired || cause == ErrReplaced || cause == ErrDataLoss || c.SessionID() == 0 {
		return nil
	}
	return fmt.Errorf("the ZooKeeper session was left to expire: %w", cmp.Or(context.Cause(ctx), cause))
}

// Asked closes when Close has sent its request, or has found no connection to send it over, or no
// session.
func (c *Conn) Asked() <-chan struct{} { return c.core.asked.C() }

// Abandon frees everything at once and leaves the session to expire. No event comes from then on,
// and no goroutine is left when it returns.
func (c *Conn) Abandon() {
	c.core.end(errAbandoned)
	<-c.core.kept.C()
}

// beginClosing refuses requests from now on, and returns the connection over which to close the
// session, if there is one.
func (c *core) beginClosing() (up *socket) {
	var nothing, refused bool
	c.update(func() {
		if c.over() {
			return
		}
		c.refuse()
		if c.socket != nil && c.socket.up() {
			up = c.socket
		} else {
			c.asked.Close()
		}
		nothing = c.nothing()
		refused = up == nil && errors.Is(c.trouble, ErrAuthRequired)
	})
	switch {
	case nothing:
		c.end(errClosed)
	case refused:
		c.end(errNotClosed)
	}
	return up
}

// refused ends a session of which a server refused a credential: the application can do nothing
// with it. At the servers it still exists. It is closed over the next connection, on which no
// credential is presented, so that its ephemeral znodes go at once.
func (c *core) refused() {
	c.update(func() {
		c.refuse()
		c.events = append(c.events, Ended{Cause: ErrAuthFailed})
	})
}

// loseUnlessClosed gives the closing of the session as long as a handshake. Then another connection
// is tried.
func (w *socket) loseUnlessClosed() {
	select {
	case <-w.lost.C():
	case <-time.After(w.limit):
		w.lose(errCloseTimeout)
	}
}

// unauthenticated is the error of a server that insists on an authentication. It does nothing for
// this session, not even close it, so Close does not wait for that.
func (w *socket) unauthenticated() error {
	if w.conn.isClosing() {
		w.conn.end(errNotClosed)
	}
	return ErrAuthRequired
}
