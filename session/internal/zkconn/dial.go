package zkconn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

const (
	handshakeShare = 6 // a server that does not answer the request for the session is not waited for alone for longer than this part of the timeout

	shortestPause = 20 * time.Millisecond // between the first round of servers and the second, …
	longestPause  = time.Second           // … doubling up to this, or a handshake's time if that is shorter
)

// dial is called by the library's loop whenever it has no connection. What it returns is up, or
// the stub.
func (c *Conn) dial(_, _ string, _ time.Duration) (net.Conn, error) {
	w := c.connect()
	if w == nil {
		return c.stub, nil
	}
	if err := w.handshake(); err != nil {
		w.lose(err)
		return nil, err
	}
	return w, nil
}

// complain says why there is no connection, once for each time that there is none: the first reason
// is what an operator wants to know. The rest the library has its words for.
func (c *Conn) warnDown(at *target, cause error) {
	c.mu.Lock()
	again := c.warned || c.closing || c.cause != nil
	c.warned = true
	c.dialErr = fmt.Errorf("%s: %w", at, cause)
	c.mu.Unlock()
	if !again {
		c.log.Warn("no connection to ZooKeeper", "server", at.server, "address", at.address, "cause", cause)
	}
}

// Trouble is why the last attempt to connect failed; nil if none has since there was a connection.
func (c *Conn) Trouble() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dialErr
}

// pauseLength is how long to wait before the next server is tried: between two rounds, not within
// one, with jitter so that the clients of a server that went don't come back in step. It is shorter
// where there is something to lose soon.
func (c *Conn) pauseLength() time.Duration {
	var left time.Duration
	if c.cfg.Stake != nil {
		left, _ = c.cfg.Stake()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	round := c.tries / len(c.cfg.Servers)
	within := c.tries%len(c.cfg.Servers) != 0
	c.tries++
	if round == 0 || within {
		return 0
	}
	longest := min(longestPause, c.session.timeout/handshakeShare)
	if left > 0 {
		longest = min(longest, max(left/8, shortestPause))
	}
	d := min(shortestPause<<min(round-1, 10), longest)
	return d/2 + rand.N(d/2+1)
}

// Dial connects to an address. It is what connects where the configuration says nothing else.
func Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}
