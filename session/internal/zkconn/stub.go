package zkconn

import (
	"io"
	"math"
	"net"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
)

// stub is the connection that the library gets when the session is over, with no server behind it.
// The library's loop ends only from within a connection, and its Close waits for what becomes of a
// closeSession, or for a second. The stub accepts the session, and fails the next write, which is
// that closeSession: at this the library gives up, and all of its goroutines end.
type stub struct {
	withoutDeadlines
	reached *notify.Latch // the library has taken it for a connection
	closed  *notify.Latch
	out     []byte // of the library's loop
}

func newStub() *stub {
	return &stub{reached: notify.NewLatch(), closed: notify.NewLatch(), out: responseForLibrary(1, math.MaxInt32)} // without pings
}

func (s *stub) Write(frame []byte) (int, error) {
	if s.reached.Close() {
		return len(frame), nil
	}
	return 0, io.ErrClosedPipe
}

// Read blocks behind the response until Close.
func (s *stub) Read(p []byte) (int, error) {
	if n := copy(p, s.out); n > 0 {
		s.out = s.out[n:]
		return n, nil
	}
	<-s.closed.C()
	return 0, io.EOF
}

func (s *stub) Close() error {
	s.closed.Close()
	return nil
}

func (s *stub) LocalAddr() net.Addr  { return nowhere{} }
func (s *stub) RemoteAddr() net.Addr { return nowhere{} }

type nowhere struct{}

func (nowhere) Network() string { return "none" }
func (nowhere) String() string  { return "none" }

// withoutDeadlines are those of a connection that does not obey the library's: a wire sets its own.
type withoutDeadlines struct{}

func (withoutDeadlines) SetDeadline(time.Time) error      { return nil }
func (withoutDeadlines) SetReadDeadline(time.Time) error  { return nil }
func (withoutDeadlines) SetWriteDeadline(time.Time) error { return nil }

// responseForLibrary is what the library gets in answer to its request for the session. It takes nothing
// from it but how often to ping: three times in the timeout.
func responseForLibrary(id int64, timeout int32) []byte {
	return encode(&jute.ConnectResponse{SessionID: id, Timeout: timeout, Password: make([]byte, passwordLength), Old: true})
}
