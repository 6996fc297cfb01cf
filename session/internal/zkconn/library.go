package zkconn

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"runtime/debug"
	"sync"

	"github.com/go-zookeeper/zk"

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

// face is what the library gets for a connection. It writes its connect request there, which is
// dropped, and then only pings. It reads a made-up reply, and then its receiving goroutine receives
// everything that the server sends, none of which is for the library.
type face struct {
	net.Conn // one that leads nowhere: the deadlines and addresses don't matter
	of       connection
	asked    notify.Latch // the library has written its connect request
	reply    []byte       // to that, until it is read
}

// connection is what a face is of. Both methods return when it is lost.
type connection interface {
	ping() error
	receive() error
	lose(cause error)
}

// newFace makes the face of a connection. The library pings three times in the timeout.
func newFace(of connection, sessionID int64, timeout int32) *face {
	nowhere, _ := net.Pipe()
	return &face{Conn: nowhere, of: of, reply: encode(&jute.ConnectResponse{
		SessionID: sessionID, Timeout: timeout, Password: make([]byte, passwordLength), Old: true,
	})}
}

// Write is called with one frame.
func (f *face) Write(frame []byte) (int, error) {
	if f.asked.Close() {
		return len(frame), nil
	}
	err := errUnexpected
	if len(frame) >= 8 && int32(binary.BigEndian.Uint32(frame[4:])) == jute.XidPing {
		err = f.of.ping()
	}
	if err != nil {
		f.of.lose(err)
		return 0, err
	}
	return len(frame), nil
}

func (f *face) Read(p []byte) (int, error) {
	if n := copy(p, f.reply); n > 0 {
		f.reply = f.reply[n:]
		return n, nil
	}
	err := f.of.receive()
	f.of.lose(err)
	return 0, err
}

// Close is called when a read or a write has failed.
func (f *face) Close() error {
	f.of.lose(errHungUp)
	return nil
}

// stub is a connection without a server, the last one that the library gets. The library's loop can
// be ended only while it has a connection, and its Close waits until its closeSession has failed or
// is answered, or for a second. Here that fails, and all goroutines of the library end.
type stub struct{ lost *notify.Latch }

func newStub() *face { return newFace(stub{new(notify.Latch)}, 1, math.MaxInt32) } // without pings

func (s stub) ping() error { return nil }

func (s stub) receive() error {
	<-s.lost.C()
	return io.EOF
}

func (s stub) lose(error) { s.lost.Close() }

// library is the client of go-zookeeper.
type library struct {
	conn   *zk.Conn
	events <-chan zk.Event // closed when its last goroutine ends; the events are ignored
	stub   *face           // its last connection
	ended  notify.Latch    // its goroutines have
}

// start starts the library, which calls dial when it has no connection.
func (l *library) start(cfg *Config, dial zk.Dialer) (err error) {
	l.conn, l.events, err = zk.Connect(cfg.Servers, cfg.Timeout,
		zk.WithDialer(dial),
		zk.WithHostProvider(hosts{}),
		zk.WithLogger(logger{cfg.Logger}),
		zk.WithLogInfo(false),
		zk.WithMaxConnBufferSize(libraryBuffer),
		zk.WithMaxBufferSize(libraryBuffer),
	)
	return err
}

// end ends the library's goroutines, when its loop asks for a connection no more.
func (l *library) end() {
	l.conn.Close()
	for range l.events {
		// a few old events; the loop ends with the last goroutine
	}
	l.ended.Close()
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
