package zkconn

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
)

// link reads and writes the frames of one network connection.
type link struct {
	raw     net.Conn
	bare    net.Conn // raw, or what is below its TLS
	log     *slog.Logger
	in      *bufio.Reader // of the goroutine that reads
	largest int           // frame that is read
	reading *method
	writing *method

	// After this time a read or a write fails; 0 during the handshake, whose steps have limits.
	// It is for each read, not for each frame: a large reply may take long on a slow network.
	patience time.Duration
	expired  atomic.Bool  // it was closed at a limit
	left     notify.Latch // closes soon after the connection: a call that has not returned is left alone
}

func newLink(raw net.Conn, largest int, log *slog.Logger) *link {
	l := &link{raw: raw, bare: raw, log: log, largest: largest}
	if secured, ok := raw.(interface{ NetConn() net.Conn }); ok {
		l.bare = secured.NetConn()
	}
	_, ours := l.bare.(*net.TCPConn)
	l.reading = l.method("read", raw.Read, raw.SetReadDeadline, ours)
	l.writing = l.method("write", raw.Write, raw.SetWriteDeadline, ours)
	l.in = bufio.NewReaderSize(l, smallBuffer)
	return l
}

// method is Read or Write of a connection, with the state of the call under way. If the connection
// may be the application's, each call has a goroutine of its own.
type method struct {
	doing    string                // "read" or "write"
	bound    func(time.Time) error // sets its deadline
	limit    *time.Timer           // in place of a deadline, if the connection may be the application's; else nil
	run      func()                // makes the call with p, and sets n and err
	returned chan struct{}         // full when run has returned

	turn chan struct{} // full while there is a call: one at a time
	p    []byte
	n    int
	err  error
}

func (l *link) method(doing string, f func([]byte) (int, error), bound func(time.Time) error, ours bool) *method {
	m := &method{doing: doing, bound: bound, returned: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	if !ours {
		m.limit = l.within(time.Hour)
		m.limit.Stop()
	}
	m.run = func() {
		defer func() { m.returned <- struct{}{} }()
		defer guard(l.log, doing, &m.err)
		m.n, m.err = f(m.p)
	}
	return m
}

// Read is what the buffer reads from.
func (l *link) Read(p []byte) (int, error) { return l.call(l.reading, p) }

func (l *link) write(frames []byte) error {
	_, err := l.call(l.writing, frames)
	return err
}

// call reads or writes. A call that has not returned soon after the connection was closed is left
// alone with its goroutine, and may still use p.
func (l *link) call(m *method, p []byte) (int, error) {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	if l.left.Closed() {
		return 0, l.failed(m.doing, net.ErrClosed)
	}
	m.p, m.n, m.err = p, 0, errGoexit
	if m.limit == nil {
		if l.patience > 0 {
			_ = m.bound(time.Now().Add(l.patience))
		}
		m.run()
	} else {
		if l.patience > 0 {
			m.limit.Reset(l.patience)
			defer m.limit.Stop()
		}
		go m.run() // ends with the application's method, if that ever returns
	}
	select {
	case <-m.returned:
		return m.n, l.failed(m.doing, m.err)
	case <-l.left.C():
		return 0, l.failed(m.doing, leave(l.log, m.doing))
	}
}

func (l *link) failed(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case l.expired.Load():
		err = os.ErrDeadlineExceeded
	}
	return &networkError{doing, bare(err)}
}

// bare is an error of the network without the addresses, which are told beside it.
func bare(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Error() == err.Error() {
		return op.Err
	}
	return err
}

// within closes the connection after a time, unless the timer is stopped. Deadlines would not do: a
// connection through SSH, for one, refuses them.
func (l *link) within(limit time.Duration) *time.Timer {
	return time.AfterFunc(limit, func() {
		l.expired.Store(true)
		l.drop()
	})
}

// hangUp closes the connection. It skips the close_notify of TLS, whose write could block.
func (l *link) hangUp() { l.close(-1) }

// drop is hangUp, but the system does not send data again that have not arrived.
func (l *link) drop() { l.close(0) }

func (l *link) close(linger int) {
	left := new(notify.Latch)
	time.AfterFunc(100*time.Millisecond, func() {
		if left.Close(); l.reading.limit != nil {
			l.left.Close()
		}
	})
	_, _ = apart(l.log, "hang up", left, func() (any, error) {
		if tcp, ok := l.bare.(interface{ SetLinger(sec int) error }); ok {
			_ = tcp.SetLinger(linger)
		}
		_ = l.bare.Close()
		return nil, l.raw.Close()
	}, func(any) {})
}

func (l *link) peekLength() (int, error) {
	head, err := l.in.Peek(4)
	if err != nil {
		return 0, err
	}
	return int(int32(binary.BigEndian.Uint32(head))), nil
}

// peekReply decodes the header of the next frame, and returns the frame's length.
func (l *link) peekReply() (reply jute.Reply, length int, err error) {
	if length, err = l.peekLength(); err != nil {
		return reply, 0, err
	}
	if length < headerLength {
		return reply, 0, badLength(length)
	}
	head, err := l.in.Peek(4 + headerLength)
	if err != nil {
		return reply, 0, err
	}
	return reply, length, reply.DecodeHeader(jute.NewReader(head[4:]))
}

// readFrame reads a whole frame, without its length. It is valid until the next read.
func (l *link) readFrame(length int) ([]byte, error) {
	if length < 0 || length > l.largest {
		return nil, badLength(length)
	}
	if 4+length <= l.in.Size() {
		frame, err := l.in.Peek(4 + length)
		if err != nil {
			return nil, err
		}
		_, err = l.in.Discard(4 + length)
		return frame[4:], err
	}
	frame := make([]byte, 4+length)
	if _, err := io.ReadFull(l.in, frame); err != nil {
		return nil, err
	}
	return frame[4:], nil
}

func badLength(length int) error { return fmt.Errorf("%w: its length is %d", errMalformed, length) }

// networkError is an error that the network reported: the connection was closed, or timed out.
type networkError struct {
	doing string
	err   error
}

func (e *networkError) Error() string { return e.doing + ": " + e.err.Error() }

func (e *networkError) Unwrap() error { return e.err }

// hungUp tells whether the other side closed the connection, or the network did.
func hungUp(cause error) bool {
	_, broken := errors.AsType[*networkError](cause)
	return broken && !timedOut(cause)
}

func timedOut(cause error) bool {
	timeout, ok := errors.AsType[net.Error](cause)
	return ok && timeout.Timeout()
}

// Failures in code of the application that runs here: its dialer, its connections, its TLS.
var (
	errPanic       = errors.New("panic")
	errGoexit      = errors.New("runtime.Goexit was called")
	errNotReturned = errors.New("the application's function did not return")
)

// guard is deferred where a panic has to be an error.
func guard(log *slog.Logger, doing string, err *error) {
	reason := recover()
	if reason == nil && *err == errGoexit {
		reason = errGoexit
	}
	if reason != nil {
		log.Error("zkconn panicked", "while", doing, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
		*err = fmt.Errorf("%s: %w: %v", doing, errPanic, reason)
	}
}

// apart calls a function of the application's in a goroutine of its own. If it has not returned
// when left closes, that goroutine is left alone, and after gets the value that is returned at
// last.
func apart[T any](log *slog.Logger, doing string, left *notify.Latch, f func() (T, error), after func(T)) (T, error) {
	var made, none T
	err, returned := errGoexit, make(chan struct{})
	go func() { // ends with f, if that ever returns
		defer guard(log, doing, new(error))
		defer func() {
			select {
			case returned <- struct{}{}:
			case <-left.C():
				after(made)
			}
		}()
		defer guard(log, doing, &err)
		made, err = f()
	}()
	select {
	case <-returned:
		return made, err
	case <-left.C():
	}
	return none, leave(log, doing)
}

func leave(log *slog.Logger, doing string) error {
	log.Warn("a function of the application's does not return: its goroutine is left alone", "while", doing)
	return errNotReturned
}
