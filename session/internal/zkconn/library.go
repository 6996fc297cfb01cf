package zkconn

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
)

// hosts is the library's list of servers. It has one, which dial ignores, and never reports the end
// of a round, at which the library would wait for a second.
type hosts struct{}

func (hosts) Init([]string) error                    { return nil }
func (hosts) Len() int                               { return 1 }
func (hosts) Next() (server string, retryStart bool) { return "zookeeper", false }
func (hosts) Connected()                             {}

// logger is the library's.
type logger struct{ log *slog.Logger }

func (l logger) Printf(format string, args ...any) {
	l.log.Debug("zookeeper client: " + fmt.Sprintf(format, args...))
}

// stub is the library's last connection, without a server. The library's loop can be ended only
// while it has a connection, and its Close waits until its closeSession has failed or is answered,
// or for a second. The stub accepts the connect request and fails the next write, which is that
// closeSession. Then all goroutines of the library end.
type stub struct {
	withoutDeadlines
	reached *notify.Latch // the library has taken it for a connection
	closed  *notify.Latch
	out     []byte // of the library's main goroutine
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

// Read returns the reply to the connect request, and then blocks until Close.
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

// withoutDeadlines ignores the deadlines that the library sets. A wire has its own.
type withoutDeadlines struct{}

func (withoutDeadlines) SetDeadline(time.Time) error      { return nil }
func (withoutDeadlines) SetReadDeadline(time.Time) error  { return nil }
func (withoutDeadlines) SetWriteDeadline(time.Time) error { return nil }

// responseForLibrary is the reply to the library's connect request. The library uses the timeout:
// it pings three times in it.
func responseForLibrary(id int64, timeout int32) []byte {
	return encode(&jute.ConnectResponse{SessionID: id, Timeout: timeout, Password: make([]byte, passwordLength), Old: true})
}

// This package relies on when this version of the library reads and writes, and on how its
// goroutines end. A test compares it with go.mod.
const (
	libraryPath    = "github.com/go-zookeeper/zk"
	libraryVersion = "v1.0.4"
)

// libraryWarning limits the warning to one in a program.
var libraryWarning sync.Once

// warnOfLibrary logs a warning if the program was built with another version of the library, or
// with a replacement. A program that does not tell is not warned of.
func warnOfLibrary(log *slog.Logger, once *sync.Once) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	if built := libraryOf(info); built != "" && built != libraryVersion {
		once.Do(func() {
			log.Warn("built with a go-zookeeper that Troupe is not tested with", "version", built, "tested", libraryVersion)
		})
	}
}

// libraryOf is the version of the library that a program was built with; "" if it does not tell.
func libraryOf(info *debug.BuildInfo) string {
	for _, dep := range info.Deps {
		switch {
		case dep.Path != libraryPath:
		case dep.Replace != nil:
			return dep.Replace.Path + " " + dep.Replace.Version
		default:
			return dep.Version
		}
	}
	return ""
}
