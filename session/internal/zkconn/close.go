package zkconn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Close closes the session at the servers, so that its ephemeral znodes go at once, and tears
// everything down; no event comes from then on, and no goroutine is left when it returns. If the
// connection is down it waits for the next one, until ctx ends; then the session is left to expire,
// which the error says. It returns nil if the session is known to be gone. It may be called more
// than once; the first ctx that ends is obeyed.
func (c *Conn) Close(ctx context.Context) error {
	var closeSession sync.WaitGroup
	if w := c.beginClosing(); w != nil {
		closeSession.Go(func() { _ = w.write(closeFrame()) }) // both are owned by this call, and end at the latest when the wire does, which end sees to
		closeSession.Go(w.loseInTime)
	}
	select {
	case <-c.over.C():
	case <-ctx.Done():
	}
	c.end(errClosed)
	closeSession.Wait()
	<-c.gone.C()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessionGone || c.session.id == 0 {
		return nil
	}
	why := context.Cause(ctx)
	if why == nil {
		why = c.cause // somebody else was in more of a hurry
	}
	return fmt.Errorf("the ZooKeeper session was left to expire: %w", why)
}

// Abandon tears everything down at once and leaves the session to expire. No event comes from then
// on, and no goroutine is left when it returns.
func (c *Conn) Abandon() {
	c.end(errAbandoned)
	<-c.gone.C()
}

// beginClosing shuts the gate and returns the connection over which the session is to be closed, if
// there is one at the moment.
func (c *Conn) beginClosing() *wire {
	var up *wire
	var nothing, refused bool
	c.tell(func() {
		if c.closing || c.cause != nil {
			return
		}
		c.closing, c.muted = true, true
		up = c.wire
		nothing = c.session.id == 0 && c.dialed == nil && c.connecting == 0
		refused = c.wire == nil && errors.Is(c.trouble, ErrAuthRequired)
	})
	c.shut.Close()
	switch {
	case nothing:
		c.end(errClosed)
	case refused:
		c.end(errNotClosed)
	}
	return up
}

// refused ends what the application can have of a session whose credentials a server refuses. That
// is said of the credential, not of the session: it is closed over the next connection, for which
// nobody asks for a credential, so that its ephemeral znodes go at once.
func (c *Conn) refused() {
	c.tell(func() {
		if !c.closing && c.cause == nil {
			c.closing = true
			c.outbox = append(c.outbox, Ended{Cause: ErrAuthFailed})
		}
	})
	c.mu.Lock()
	c.muted = true
	c.mu.Unlock()
	c.shut.Close()
}

// loseInTime gives the closing of the session as long as a handshake: then a new connection is the
// better hope.
func (w *wire) loseInTime() {
	patience := time.NewTimer(w.limit)
	defer patience.Stop()
	select {
	case <-w.lost.C():
	case <-patience.C:
		w.lose(errCloseTimeout)
	}
}

// confirmClosed: the server said that the session is closed.
func (c *Conn) confirmClosed() {
	c.mu.Lock()
	c.sessionGone = true
	c.mu.Unlock()
	c.end(errClosed)
}

// unauthenticated: the server does nothing for this session, not even close it. Nobody waits for
// that.
func (w *wire) unauthenticated() error {
	if w.conn.leaving() {
		w.conn.end(errNotClosed)
	}
	return ErrAuthRequired
}
