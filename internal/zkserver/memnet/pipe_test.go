package memnet_test

// Both ends of a connection in memory: bytes, deadlines, closing.

import (
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/zkserver/memnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAFullBufferHoldsTheWriterUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := memnet.Pipe("a", "b")
		defer b.Close()
		a.SetWriteDeadline(time.Now().Add(time.Second))
		began := time.Now()
		n, err := a.Write(make([]byte, memnet.BufferSize+1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, memnet.BufferSize, n)
		require.Equal(t, time.Second, time.Since(began))
		a.Close()
	})
}

func TestAReadEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		set  func(conn net.Conn)
		want time.Duration
	}{
		{"ahead", func(c net.Conn) { c.SetReadDeadline(time.Now().Add(3 * time.Second)) }, 3 * time.Second},
		{"past", func(c net.Conn) { c.SetReadDeadline(time.Now().Add(-1)) }, 0},
		{"both ways", func(c net.Conn) { c.SetDeadline(time.Now().Add(time.Second)) }, time.Second},
		{"moved nearer while somebody reads", func(c net.Conn) {
			c.SetReadDeadline(time.Now().Add(time.Hour))
			time.AfterFunc(time.Second, func() { c.SetReadDeadline(time.Now().Add(time.Second)) })
		}, 2 * time.Second},
		{"moved away while somebody reads", func(c net.Conn) {
			c.SetReadDeadline(time.Now().Add(time.Second))
			time.AfterFunc(time.Second/2, func() { c.SetReadDeadline(time.Now().Add(time.Minute)) })
		}, time.Minute + time.Second/2},
		{"taken back and set again", func(c net.Conn) {
			c.SetReadDeadline(time.Now().Add(-1))
			c.SetReadDeadline(time.Time{})
			time.AfterFunc(time.Second, func() { c.SetReadDeadline(time.Now()) })
		}, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, b := memnet.Pipe("a", "b")
				defer a.Close()
				defer b.Close()
				began := time.Now()
				c.set(a)
				_, err := a.Read(make([]byte, 1))
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				var timeout net.Error
				require.ErrorAs(t, err, &timeout)
				require.True(t, timeout.Timeout())
				require.Equal(t, c.want, time.Since(began))
			})
		})
	}
}

func TestACloseEndsReadsAndWrites(t *testing.T) {
	t.Parallel()
	read := func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err }
	write := func(c net.Conn, n int) error { _, err := c.Write(make([]byte, n)); return err }
	later := func(do func() error) { time.AfterFunc(time.Second, func() { do() }) }
	for _, c := range []struct {
		name string
		do   func(a, b net.Conn) error
		want error
	}{
		{"read after one's own close", func(a, _ net.Conn) error { a.Close(); return read(a) }, net.ErrClosed},
		{"write after one's own close", func(a, _ net.Conn) error { a.Close(); return write(a, 1) }, net.ErrClosed},
		{"read after the other's close", func(a, b net.Conn) error { b.Close(); return read(a) }, io.EOF},
		{"write after the other's close", func(a, b net.Conn) error { b.Close(); return write(a, 1) }, io.ErrClosedPipe},
		{"a close wakes one's own reader", func(a, _ net.Conn) error { later(a.Close); return read(a) }, net.ErrClosed},
		{"a close wakes the other's reader", func(a, b net.Conn) error { later(b.Close); return read(a) }, io.EOF},
		{"a close wakes a writer", func(a, b net.Conn) error { later(b.Close); return write(a, 2*memnet.BufferSize) }, io.ErrClosedPipe},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, b := memnet.Pipe("a", "b")
				require.ErrorIs(t, c.do(a, b), c.want)
				a.Close()
				require.NoError(t, a.Close())
				b.Close()
			})
		})
	}
}

func TestEachEndKnowsBothAddresses(t *testing.T) {
	t.Parallel()
	a, b := memnet.Pipe("client:1", "server:2")
	require.Equal(t, "client:1", a.LocalAddr().String())
	require.Equal(t, "server:2", a.RemoteAddr().String())
	require.Equal(t, "client:1", b.RemoteAddr().String())
	require.Equal(t, "mem", b.LocalAddr().Network())
	n, err := a.Read(nil)
	require.NoError(t, err)
	require.Zero(t, n)
	a.Close()
	b.Close()
}
