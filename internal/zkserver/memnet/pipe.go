// Package memnet is a network inside the process: connections that look like TCP's to both ends,
// with buffers, deadlines and closing, but made of channels alone. So they work inside a
// testing/synctest bubble, where a goroutine that waits on one is durably blocked and time can
// pass.
package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// BufferSize is how many bytes one direction takes before a writer has to wait for the reader, as
// with a socket.
const BufferSize = 1 << 20

// Addr is the address of an end.
type Addr string

// Network is "mem".
func (Addr) Network() string { return "mem" }

func (a Addr) String() string { return string(a) }

// Pipe makes a connection; what is written to one end is read from the other.
func Pipe(client, server Addr) (net.Conn, net.Conn) {
	up, down := newStream(), newStream()
	a := &conn{in: down, out: up, local: client, remote: server}
	b := &conn{in: up, out: down, local: server, remote: client}
	return a, b
}

type conn struct {
	in, out       *stream
	local, remote Addr
	read, write   deadline
	closing       sync.Once
}

func (c *conn) Read(b []byte) (int, error)  { return c.in.read(b, &c.read) }
func (c *conn) Write(b []byte) (int, error) { return c.out.write(b, &c.write) }

// Close ends both directions. What was written before can still be read by the other end.
func (c *conn) Close() error {
	c.closing.Do(func() {
		c.out.endWrite()
		c.in.endRead()
	})
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error {
	c.read.set(t)
	c.write.set(t)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.read.set(t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.write.set(t)
	return nil
}

// stream is one direction.
type stream struct {
	mu      sync.Mutex
	buf     []byte
	head    int           // what lies before it was read
	eof     bool          // the writing end is closed
	gone    bool          // the reading end is closed
	changed chan struct{} // closed and replaced whenever something above changes while somebody waits
	waiting bool
}

func newStream() *stream { return &stream{changed: make(chan struct{})} }

// wake tells all who wait that the state has changed. The caller holds the lock.
func (s *stream) wake() {
	if s.waiting {
		close(s.changed)
		s.changed, s.waiting = make(chan struct{}), false
	}
}

func (s *stream) read(b []byte, d *deadline) (int, error) {
	for {
		s.mu.Lock()
		expired := d.expired()
		switch {
		case s.gone:
			s.mu.Unlock()
			return 0, net.ErrClosed
		case isClosed(expired):
			s.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		case len(s.buf) > s.head:
			n := s.take(b)
			s.wake()
			s.mu.Unlock()
			return n, nil
		case s.eof:
			s.mu.Unlock()
			return 0, io.EOF
		case len(b) == 0:
			s.mu.Unlock()
			return 0, nil
		}
		s.waiting = true
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-expired:
		}
	}
}

// keep is how large a buffer may be to be kept while it is empty.
const keep = 4 << 10

func (s *stream) take(b []byte) int {
	n := copy(b, s.buf[s.head:])
	if s.head += n; s.head == len(s.buf) {
		s.buf, s.head = s.buf[:0], 0
		if cap(s.buf) > keep {
			s.buf = nil
		}
	}
	return n
}

func (s *stream) write(b []byte, d *deadline) (int, error) {
	done := 0
	for {
		s.mu.Lock()
		expired := d.expired()
		switch {
		case s.eof:
			s.mu.Unlock()
			return done, net.ErrClosed
		case s.gone:
			s.mu.Unlock()
			return done, io.ErrClosedPipe
		case isClosed(expired):
			s.mu.Unlock()
			return done, os.ErrDeadlineExceeded
		}
		if n := min(len(b)-done, BufferSize-len(s.buf)+s.head); n > 0 {
			s.buf = append(s.buf, b[done:done+n]...)
			done += n
			s.wake()
		}
		if done == len(b) {
			s.mu.Unlock()
			return done, nil
		}
		s.waiting = true
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-expired:
		}
	}
}

func (s *stream) endWrite() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eof = true
	s.wake()
}

func (s *stream) endRead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone, s.buf = true, nil
	s.wake()
}
