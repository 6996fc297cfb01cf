package zkserver

import (
	"slices"

	"github.com/troupe-go/troupe/internal/zkserver/pace"
)

// Speed says what a slow way costs: a latency and a bandwidth, each way.
type Speed = pace.Speed

// slowdown makes some connections slow. Of several that cover a connection the latencies add up,
// and the smallest bandwidth counts.
type slowdown struct {
	speed  Speed
	covers func(*conn) bool
}

// Slow slows a session's connection down, and those over which it comes back; their handshakes
// still arrive at once.
func (s *Server) Slow(id int64, speed Speed) (heal func()) {
	return s.slowDown(speed, func(c *conn) bool { return c.session != nil && c.session.id == id })
}

// SlowHost slows all connections down that were made with [Server.DialFrom] under a host's name,
// and those that it will make.
func (s *Server) SlowHost(host string, speed Speed) (heal func()) {
	return s.slowDown(speed, func(c *conn) bool { return c.host == host })
}

// Slow slows down all connections to this front.
func (f *Front) Slow(speed Speed) (heal func()) {
	return f.s.slowDown(speed, func(c *conn) bool { return c.front == f })
}

func (s *Server) slowDown(speed Speed, covers func(*conn) bool) (heal func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &slowdown{speed, covers}
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
	var sum Speed
	for _, x := range c.s.slow {
		if x.covers(c) {
			sum = sum.Plus(x.speed)
		}
	}
	c.transport.SetSpeed(sum)
}
