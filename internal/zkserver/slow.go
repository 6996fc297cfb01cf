package zkserver

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/zkserver/memnet"
)

// slowdown makes some connections slow. The latencies of several that cover a connection add up.
type slowdown struct {
	latency time.Duration // each way
	covers  func(*conn) bool
}

// Slow slows a session's connection down, and those over which it comes back; their handshakes
// still arrive at once. Connections of sockets are as fast as they are.
func (s *Server) Slow(id int64, latency time.Duration) (heal func()) {
	return s.slowDown(latency, func(c *conn) bool { return c.session != nil && c.session.id == id })
}

// SlowHost slows all connections down that were made with [Server.Dialer] under a host's name,
// and those that it will make.
func (s *Server) SlowHost(host string, latency time.Duration) (heal func()) {
	return s.slowDown(latency, func(c *conn) bool { return c.host == host })
}

func (s *Server) slowDown(latency time.Duration, covers func(*conn) bool) (heal func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &slowdown{latency, covers}
	s.slow = append(s.slow, x)
	s.paceAll()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.slow = slices.DeleteFunc(s.slow, func(o *slowdown) bool { return o == x })
		s.paceAll()
	}
}

func (s *Server) paceAll() {
	for _, f := range s.fronts {
		for c := range f.conns {
			c.pace()
		}
	}
}

// pace sets the speed of a connection. The caller holds the server's lock.
func (c *conn) pace() {
	way, ok := c.transport.(*memnet.Conn)
	if !ok {
		return
	}
	sum := time.Duration(0)
	for _, x := range c.s.slow {
		if x.covers(c) {
			sum += x.latency
		}
	}
	way.SetLatency(sum)
}

// SlowHandshakes lets each handshake cost its server this much work, 0 for none. A server does this
// work one handshake after the other, in the order in which they came, and also for clients that
// have hung up meanwhile, as a real one does under a herd that comes back. Those that wait keep
// what they were told to wait.
func (s *Server) SlowHandshakes(cost time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handshakeCost = cost
}

// queueUp is how long a handshake that comes now waits until the server is through with it. The
// caller holds the server's lock.
func (f *Front) queueUp(now time.Time) time.Duration {
	if f.s.handshakeCost <= 0 {
		return 0
	}
	if f.busyUntil.Before(now) {
		f.busyUntil = now
	}
	f.busyUntil = f.busyUntil.Add(f.s.handshakeCost)
	return f.busyUntil.Sub(now)
}
