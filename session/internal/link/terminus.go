package link

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
)

// terminus is the connection that the library gets when the session is over. There is no server
// behind it: it accepts the session, refuses every request and answers the library's closeSession,
// at which all of its goroutines end. Without it a Conn of the library that can't reach a server
// could not be ended in less than a second, nor without dialling on.
type terminus struct {
	reached *notify.Latch // the library has taken it for a connection

	mu     sync.Mutex
	wake   *sync.Cond
	out    []byte
	closed bool
}

func newTerminus() *terminus {
	t := &terminus{reached: notify.NewLatch()}
	t.wake = sync.NewCond(&t.mu)
	return t
}

// Write takes one whole frame.
func (t *terminus) Write(frame []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return 0, io.ErrClosedPipe
	}
	defer t.wake.Broadcast()
	w := jute.NewWriter(t.out)
	defer func() { t.out = w.Bytes() }()
	w.Begin()
	defer w.End()
	if t.greet(w) {
		return len(frame), nil
	}
	xid := int32(binary.BigEndian.Uint32(frame[4:]))
	answer := jute.Reply{Xid: xid}
	switch op := jute.Op(int32(binary.BigEndian.Uint32(frame[8:]))); op {
	case jute.OpCloseSession, jute.OpPing:
		answer.Encode(w, op)
	default:
		answer.Err = codeRefused
		answer.Encode(w, op)
	}
	return len(frame), nil
}

// greet answers the first frame, which asks for the session. Any number will do, since nobody is
// told it.
func (t *terminus) greet(w *jute.Writer) bool {
	if t.reached.Closed() {
		return false
	}
	welcome := jute.ConnectResponse{Timeout: 10_000, SessionID: 1, Password: make([]byte, passwordLength)}
	welcome.Encode(w)
	t.reached.Close()
	return true
}

// Read blocks until there is an answer, or Close.
func (t *terminus) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.out) == 0 && !t.closed {
		t.wake.Wait()
	}
	if len(t.out) == 0 {
		return 0, io.EOF
	}
	n := copy(p, t.out)
	t.out = t.out[n:]
	return n, nil
}

// Close ends reading.
func (t *terminus) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.wake.Broadcast()
	return nil
}

// What a net.Conn has besides. Nothing here ever takes long, so deadlines have no meaning.

func (t *terminus) LocalAddr() net.Addr              { return nowhere{} }
func (t *terminus) RemoteAddr() net.Addr             { return nowhere{} }
func (t *terminus) SetDeadline(time.Time) error      { return nil }
func (t *terminus) SetReadDeadline(time.Time) error  { return nil }
func (t *terminus) SetWriteDeadline(time.Time) error { return nil }

type nowhere struct{}

func (nowhere) Network() string { return "none" }
func (nowhere) String() string  { return "terminus" }
