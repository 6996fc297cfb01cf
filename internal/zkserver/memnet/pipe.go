// Package memnet is a network inside the process: connections that look like TCP's to both ends,
// with buffers, deadlines and closing, but made of channels alone. So they work inside a
// testing/synctest bubble, where a goroutine that waits on one is durably blocked and time can
// pass. SetLatency makes the way take a time.
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
func Pipe(client, server Addr) (*Conn, *Conn) {
	up, down := newStream(), newStream()
	a := &Conn{in: down, out: up, local: client, remote: server}
	b := &Conn{in: up, out: down, local: server, remote: client}
	return a, b
}

// Conn is one end of a connection.
type Conn struct {
	in, out       *stream
	local, remote Addr
	read, write   deadline
	closing       sync.Once
}

// SetLatency sets how long what either end sends from now on is under way. The order is kept, and
// many writes can be under way at once.
func (c *Conn) SetLatency(d time.Duration) {
	c.in.setLatency(d)
	c.out.setLatency(d)
}

// SetArrivals sets, before the first write, when what is due at an instant arrives: what this end
// sends, and what it receives. The end of a connection is then under way as well.
func (c *Conn) SetArrivals(out, in func(due time.Time) time.Time) {
	c.out.arrival, c.in.arrival = out, in
}

// Read reads what has arrived.
func (c *Conn) Read(b []byte) (int, error) { return c.in.read(b, &c.read) }

// Write sends; it waits while the buffer is full.
func (c *Conn) Write(b []byte) (int, error) { return c.out.write(b, &c.write) }

// Close ends both directions. The other end can still read data that were written before.
func (c *Conn) Close() error {
	c.closing.Do(func() {
		c.out.endWrite()
		c.in.endRead()
	})
	return nil
}

// LocalAddr is this end's address.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is the other end's.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	c.read.set(t)
	c.write.set(t)
	return nil
}

// SetReadDeadline ends reads at an instant.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.read.set(t)
	return nil
}

// SetWriteDeadline ends writes at an instant.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.write.set(t)
	return nil
}

// stream is one direction.
type stream struct {
	mu      sync.Mutex
	buf     []byte // read up to head | arrived | under way: the last flying bytes
	head    int
	eof     bool                          // the writing end is closed
	gone    bool                          // the reading end is closed
	latency time.Duration                 // of what is written from now on
	arrival func(due time.Time) time.Time // see SetArrivals; nil: when it is due
	flight  []parcel                      // what is under way, first come first; flying is the sum of its bytes
	flying  int
	changed chan struct{} // closed and replaced whenever something above changes while a goroutine waits
	waiting bool          // a goroutine waits for changed
}

// parcel is what one write sent.
type parcel struct {
	bytes int
	due   time.Time
}

func newStream() *stream { return &stream{changed: make(chan struct{})} }

// wake tells all who wait that the state has changed. The caller holds the lock.
func (s *stream) wake() {
	if s.waiting {
		close(s.changed)
		s.changed, s.waiting = make(chan struct{}), false
	}
}

func (s *stream) setLatency(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = d
}

// depart puts the last bytes of buf under way. They overtake nothing that is already.
func (s *stream) depart(bytes int) {
	last := len(s.flight) - 1
	if s.latency <= 0 && last < 0 && s.arrival == nil {
		return
	}
	due := time.Now().Add(s.latency)
	if s.arrival != nil {
		due = s.arrival(due)
	}
	if last >= 0 && s.flight[last].due.After(due) {
		due = s.flight[last].due
	}
	s.flight = append(s.flight, parcel{bytes, due})
	s.flying += bytes
}

// land takes what has arrived out of flight, and returns the time until the next does, 0 if nothing
// is under way.
func (s *stream) land() time.Duration {
	for len(s.flight) > 0 {
		if wait := time.Until(s.flight[0].due); wait > 0 {
			return wait
		}
		s.flying -= s.flight[0].bytes
		s.flight = s.flight[1:]
	}
	s.flight = nil
	return 0
}

func (s *stream) read(b []byte, d *deadline) (int, error) {
	for {
		s.mu.Lock()
		expired := d.expired()
		wait := s.land()
		switch {
		case s.gone:
			s.mu.Unlock()
			return 0, net.ErrClosed
		case isClosed(expired):
			s.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		case len(s.buf) > s.head+s.flying: // something has arrived
			n := s.take(b)
			s.wake()
			s.mu.Unlock()
			return n, nil
		case s.eof && wait == 0: // and nothing is under way
			s.mu.Unlock()
			return 0, io.EOF
		case len(b) == 0:
			s.mu.Unlock()
			return 0, nil
		}
		s.waiting = true
		changed := s.changed
		s.mu.Unlock()
		var arrival <-chan time.Time
		if wait > 0 {
			arrival = time.After(wait)
		}
		select {
		case <-changed:
		case <-expired:
		case <-arrival:
		}
	}
}

// keep is how large a buffer may be to be kept while it is empty.
const keep = 4 << 10

// take reads from what has arrived.
func (s *stream) take(b []byte) int {
	n := copy(b, s.buf[s.head:len(s.buf)-s.flying])
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
		room := BufferSize - (len(s.buf) - s.head)
		if n := min(len(b)-done, room); n > 0 {
			if s.head > len(s.buf)/2 { // else what was read is kept while more is under way
				s.buf, s.head = append(s.buf[:0], s.buf[s.head:]...), 0
			}
			s.buf = append(s.buf, b[done:done+n]...)
			s.depart(n)
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
	if s.arrival != nil {
		s.depart(0)
	}
	s.wake()
}

func (s *stream) endRead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone, s.buf, s.head, s.flight, s.flying = true, nil, 0, nil, 0
	s.wake()
}

// deadline is a channel that is closed while a point in time lies in the past.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	over  chan struct{} // nil: never set
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.over // it fired, or is about to: its channel is spent
	}
	d.timer = nil
	if d.over == nil || isClosed(d.over) {
		d.over = make(chan struct{})
	}
	if t.IsZero() {
		return
	}
	if wait := time.Until(t); wait > 0 {
		over := d.over
		d.timer = time.AfterFunc(wait, func() { close(over) })
		return
	}
	close(d.over)
}

func (d *deadline) expired() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over == nil {
		d.over = make(chan struct{})
	}
	return d.over
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
