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
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
)

// link reads and writes the frames of one network connection.
type link struct {
	raw     net.Conn
	bare    net.Conn // below TLS
	theirs  bool     // the application may have made it: its methods do what they like
	log     *slog.Logger
	in      *bufio.Reader // of the goroutine that reads
	largest int           // frame that is read

	// After this time a read or a write fails; 0 during the handshake, whose steps have limits.
	// It is for each read, not for each frame: a large reply may take long on a slow network.
	patience time.Duration
	late     atomic.Bool  // it was closed at a limit
	left     notify.Latch // soon after it was closed: what has not returned is left alone
}

func newLink(raw net.Conn, largest int, log *slog.Logger) *link {
	l := &link{raw: raw, bare: raw, log: log, largest: largest}
	if secured, ok := raw.(interface{ NetConn() net.Conn }); ok {
		l.bare = secured.NetConn()
	}
	_, ours := l.bare.(*net.TCPConn)
	l.theirs = !ours
	l.in = bufio.NewReaderSize(l, smallBuffer)
	return l
}

// Read is what the buffer reads from.
func (l *link) Read(p []byte) (int, error) {
	return l.call("read", net.Conn.Read, net.Conn.SetReadDeadline, p)
}

// write writes frames.
func (l *link) write(frames []byte) error {
	_, err := l.call("write", net.Conn.Write, net.Conn.SetWriteDeadline, frames)
	return err
}

// call reads or writes. If it was left alone, the connection may still use p.
func (l *link) call(doing string, f func(net.Conn, []byte) (int, error), bound func(net.Conn, time.Time) error, p []byte) (n int, err error) {
	if l.patience > 0 && (l.theirs || bound(l.raw, time.Now().Add(l.patience)) != nil) {
		defer l.within(l.patience).Stop()
	}
	if l.theirs {
		n, err = apart(l.log, doing, &l.left, func() (int, error) { return f(l.raw, p) }, func(int) {})
	} else {
		n, err = f(l.raw, p)
	}
	switch {
	case err == nil:
		return n, nil
	case l.late.Load():
		err = os.ErrDeadlineExceeded
	}
	return n, &networkError{doing, err}
}

// within closes the connection after a time, unless it is stopped: some refuse deadlines, as one
// through SSH does.
func (l *link) within(limit time.Duration) *time.Timer {
	return time.AfterFunc(limit, func() {
		l.late.Store(true)
		l.drop()
	})
}

// hangUp closes the connection. It skips the close_notify of TLS, whose write could block.
func (l *link) hangUp() { l.close(-1) }

// drop is hangUp, but the system does not send again what has not arrived.
func (l *link) drop() { l.close(0) }

func (l *link) close(linger int) {
	left := new(notify.Latch)
	time.AfterFunc(100*time.Millisecond, func() { left.Close(); l.left.Close() })
	_, _ = apart(l.log, "hang up", left, func() (any, error) {
		if tcp, ok := l.bare.(interface{ SetLinger(sec int) error }); ok {
			_ = tcp.SetLinger(linger)
		}
		_ = l.bare.Close()
		return nil, l.raw.Close()
	}, func(any) {})
}

// peekLength returns the length of the next frame.
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
