package proxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	longest = 16 << 20 // what is longer is no message of ZooKeeper's
	queued  = 256      // messages that are under way in one direction while a delay lasts; the sender is held back beyond that
	piece   = 24       // bytes of a trickle
	drip    = 3 * time.Millisecond
)

var errLong = errors.New("proxy: not a message of ZooKeeper's")

// conn is one connection through a proxy.
type conn struct {
	proxy  *Proxy
	client *net.TCPConn
	done   chan struct{} // closed by reset
	once   sync.Once

	mu     sync.Mutex
	server *net.TCPConn
}

// message is one frame, length included.
type message struct {
	bytes []byte
	due   time.Time
}

// serverIs notes the other end; false, and it is closed, if the connection has been reset
// meanwhile.
func (c *conn) serverIs(server *net.TCPConn) bool {
	c.mu.Lock()
	c.server = server
	c.mu.Unlock()
	select {
	case <-c.done:
		_ = server.Close() // nobody has used it
		return false
	default:
		return true
	}
}

// reset breaks both ends. It may be called more than once, from any goroutine.
func (c *conn) reset() {
	c.once.Do(func() {
		close(c.done)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, end := range []*net.TCPConn{c.client, c.server} {
			if end != nil {
				_ = end.SetLinger(0) // with a reset
				_ = end.Close()      // nobody waits for what was under way
			}
		}
	})
}

// run carries messages until an end closes, and resets the other one then.
func (c *conn) run() {
	var wg sync.WaitGroup
	for d, ends := range [2][2]*net.TCPConn{ToServer: {c.client, c.server}, ToClient: {c.server, c.client}} {
		queue := make(chan message, queued)
		// Owner of both: run; they end with the source's stream or with reset.
		wg.Go(func() {
			defer close(queue)
			c.read(Direction(d), ends[0], queue)
		})
		wg.Go(func() {
			defer c.reset()
			c.write(Direction(d), ends[1], queue)
		})
	}
	wg.Wait()
}

func (c *conn) read(d Direction, src io.Reader, queue chan<- message) {
	for first := true; ; first = false {
		frame, err := readFrame(src)
		if err != nil {
			return
		}
		if d == ToClient && first {
			if s, ok := parseSession(frame); ok {
				c.proxy.connected(s)
			}
		}
		if d == ToClient && !first && isReply(frame) && c.proxy.loses() {
			c.reset()
			return
		}
		w, _ := c.proxy.now()
		m := message{bytes: frame}
		if w.delay > 0 {
			m.due = time.Now().Add(w.delay)
		}
		select {
		case queue <- m:
		case <-c.done:
			return
		}
	}
}

func (c *conn) write(d Direction, dst io.Writer, queue <-chan message) {
	for m := range queue {
		if !c.wait(time.Until(m.due)) || !c.passes(d) || !c.send(dst, m.bytes) {
			return
		}
	}
}

func (c *conn) send(dst io.Writer, b []byte) bool {
	w, _ := c.proxy.now()
	for w.trickle && len(b) > piece {
		if _, err := dst.Write(b[:piece]); err != nil || !c.wait(drip) {
			return false
		}
		b = b[piece:]
	}
	_, err := dst.Write(b)
	return err == nil
}

// passes returns when the weather lets something through; false if the connection ends before.
func (c *conn) passes(d Direction) bool {
	for {
		w, changed := c.proxy.now()
		if !w.hole[d] {
			return true
		}
		select {
		case <-changed:
		case <-c.done:
			return false
		}
	}
}

// wait is false if the connection ends before.
func (c *conn) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.done:
		return false
	}
}

// readFrame reads one message with its length in front.
func readFrame(src io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(src, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > longest {
		return nil, errLong
	}
	frame := make([]byte, 4+n)
	copy(frame, head[:])
	_, err := io.ReadFull(src, frame[4:])
	return frame, err
}

// isReply: it answers a request of the application: no ping's answer, no watch event, no answer to
// credentials.
func isReply(frame []byte) bool {
	return len(frame) >= 8 && int32(binary.BigEndian.Uint32(frame[4:])) >= 0
}
