package link

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

const (
	handshakeShare = 6 // dialling and the connect reply may take this part of the session's timeout

	shortestPause = 20 * time.Millisecond // between the first round of servers and the second, …
	longestPause  = time.Second           // … doubling up to this, or a handshake's time if that is shorter
)

// dial is called by the library's loop whenever it has no connection. It blocks for the pause between rounds as well.
func (c *Conn) dial(_, addr string, _ time.Duration) (net.Conn, error) {
	<-c.opened.C()
	if !c.pause() {
		return c.last, nil
	}
	limit := c.handshakeLimit()
	begun := time.Now()
	ctx, cancel := context.WithTimeout(c.life, limit)
	defer cancel()
	raw, err := c.cfg.Dial(ctx, "tcp", addr)
	if err != nil {
		c.complain(addr, err)
		return nil, err // the library asks for the next server; if it is over, pause says so then
	}
	l := newLine(c, raw, addr, limit)
	if !c.adopt(l) {
		l.hangUp()
		return c.last, nil
	}
	if err := raw.SetDeadline(begun.Add(limit)); err != nil {
		l.lose(err)
		return nil, err
	}
	return l, nil
}

// complain says why there is no connection, once for each time that there is none: the first reason is what an operator wants to know. The rest the
// library has its words for.
func (c *Conn) complain(server string, cause error) {
	c.mu.Lock()
	again := c.complained || c.closing || c.cause != nil
	c.complained = true
	c.trouble = fmt.Errorf("%s: %w", server, cause)
	c.mu.Unlock()
	if !again {
		c.log.Warn("no connection to ZooKeeper", "server", server, "cause", cause)
	}
}

// Trouble is why the last attempt to connect failed; nil if none has since there was a connection.
func (c *Conn) Trouble() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

// adopt makes a new connection known to those who end the session; false if that has happened.
func (c *Conn) adopt(l *line) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return false
	}
	c.dialled = l
	return true
}

// pause waits between two rounds, not within one, with jitter so that the clients of a server that went don't come back in step. False: it is over.
func (c *Conn) pause() bool {
	c.mu.Lock()
	round := c.tries / len(c.cfg.Servers)
	within := c.tries%len(c.cfg.Servers) != 0
	c.tries++
	limit := c.session.timeout / handshakeShare
	c.mu.Unlock()
	if round == 0 || within {
		return c.life.Err() == nil
	}
	longest := min(longestPause, limit)
	d := min(shortestPause<<min(round-1, 10), longest)
	timer := time.NewTimer(d/2 + rand.N(d/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.life.Done():
		return false
	}
}

// handshakeLimit is short while there is a session whose time runs. While there is none there is nothing to lose by patience with a slow server,
// and something to lose without: every attempt leaves a session behind.
func (c *Conn) handshakeLimit() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.session.timeout / handshakeShare
	if c.session.id == 0 {
		limit = min(limit*time.Duration(1+(c.tries-1)/len(c.cfg.Servers)), c.session.timeout)
	}
	return max(limit, time.Millisecond)
}

// Dial connects to one of the addresses that the host has at this moment: in random order, with a fair part of the remaining time for each, so that
// an address that doesn't answer can't stand for the whole name.
func Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil, err
	}
	rand.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	var failures []error
	for i, a := range addrs {
		conn, err := dialOne(ctx, network, net.JoinHostPort(a, port), len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failures...)
}

func dialOne(ctx context.Context, network, addr string, share int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(share))
		defer cancel()
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}
