package ensemble_test

// The proxy: what it passes on, and how it cuts, resets, swallows and delays.

import (
	"bytes"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

const moment = 100 * time.Millisecond // long enough on loopback to see that nothing comes

// echo is a server that sends everything back. accepted gets its side of each connection.
func echo(t *testing.T) (addr string, accepted <-chan net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	conns := make(chan net.Conn, 16) // more than any test opens
	go func() {                      // owner: the test; ends when its listener closes
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns <- conn
			go func() { // owner: the test; ends with the connection
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String(), conns
}

func proxyTo(t *testing.T, addr string) *ensemble.Proxy {
	t.Helper()
	proxy, err := ensemble.NewProxy(addr)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	return proxy
}

// through is a connection through a proxy, over which something has gone both ways, with the
// server's side of it.
func through(t *testing.T) (proxy *ensemble.Proxy, conn, server net.Conn, accepted <-chan net.Conn) {
	t.Helper()
	t.Parallel()
	addr, accepted := echo(t)
	proxy = proxyTo(t, addr)
	conn = dial(t, proxy)
	passes(t, conn)
	return proxy, conn, <-accepted, accepted
}

func passes(t *testing.T, conn net.Conn) {
	t.Helper()
	send(t, conn, "x")
	requireReceives(t, conn, "x")
}

func dial(t *testing.T, proxy *ensemble.Proxy) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", proxy.Addr(), patience)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(conn, text)
	require.NoError(t, err)
}

func requireReceives(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	got := make([]byte, len(want))
	_, err := io.ReadFull(conn, got)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}

func requireSilence(t *testing.T, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(moment)))
	n, err := conn.Read(make([]byte, 1))
	require.Zero(t, n)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

func requireBroken(t *testing.T, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NotErrorIs(t, err, io.EOF, "a reset, no orderly end")
}

// requireRefused allows for the reset to come before the dial has returned, or behind.
func requireRefused(t *testing.T, proxy *ensemble.Proxy) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", proxy.Addr(), patience)
	if err == nil {
		defer func() { _ = conn.Close() }()
		requireBroken(t, conn)
	}
}

func TestCutBreaksWhatIsOpenAndWhatComes(t *testing.T) {
	tier.Real(t)
	proxy, conn, server, _ := through(t)
	proxy.Cut()
	requireBroken(t, conn)
	require.Eventually(t, func() bool { // the echo server may have closed its own side before the test looks
		_, err := server.Write([]byte{0})
		return err != nil
	}, patience, time.Millisecond)
	requireRefused(t, proxy)
	proxy.Heal()
	passes(t, dial(t, proxy))
}

// Reset breaks only what is open. A connection that hangs because the proxy does not get through is
// open for the client, and Reset breaks it, at once and for good.
func TestResetBreaksWhatIsOpenAndWhatIsBeingDialled(t *testing.T) {
	tier.Real(t)
	proxy, open, _, accepted := through(t)
	proxy.Blackhole()
	hanging := dial(t, proxy)
	send(t, hanging, "x")
	requireSilence(t, hanging) // the proxy has it by now
	proxy.Reset()
	requireBroken(t, open)
	requireBroken(t, hanging)
	proxy.Heal()
	passes(t, dial(t, proxy))
	require.Len(t, accepted, 1, "the one that was reset does not reach the target")
}

func TestBlackholeIsSilentAndHealDelivers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	for name, directions := range map[string][]ensemble.Direction{
		"both":      nil,
		"to server": {ensemble.ToServer},
		"to client": {ensemble.ToClient},
	} {
		t.Run(name, func(t *testing.T) {
			proxy, conn, server, _ := through(t)
			proxy.Blackhole(directions...)
			if name == "to server" {
				send(t, server, "the other direction")
				requireReceives(t, conn, "the other direction")
			}
			send(t, conn, "b")
			requireSilence(t, conn)
			newcomer := dial(t, proxy)
			send(t, newcomer, "c")
			requireSilence(t, newcomer)

			proxy.Heal()
			requireReceives(t, conn, "b")
			requireReceives(t, newcomer, "c")
		})
	}
}

func TestBlackholeHidesTheEndOfAConnection(t *testing.T) {
	tier.Real(t)
	proxy, conn, server, _ := through(t)
	proxy.Blackhole()
	require.NoError(t, server.Close())
	requireSilence(t, conn)
	proxy.Heal()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

// A receiver that doesn't read blocks the proxy's write; Blackhole must not wait for it, and
// nothing may be lost or doubled afterwards.
func TestBlackholeBreaksOffAWriteThatHangs(t *testing.T) {
	tier.Real(t)
	proxy, conn, server, _ := through(t)
	const size = 32 << 20 // more than the kernel's buffers take
	sent := make([]byte, size)
	for i := range sent {
		sent[i] = byte(i >> 8)
	}
	go func() { _, _ = server.Write(sent) }() // owner: the test; ends when all is read
	_, err := io.ReadFull(conn, make([]byte, 1))
	require.NoError(t, err)

	began := time.Now()
	proxy.Blackhole()
	require.Less(t, time.Since(began), 5*time.Second)
	proxy.Heal()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	got := make([]byte, size-1)
	_, err = io.ReadFull(conn, got)
	require.NoError(t, err)
	require.True(t, bytes.Equal(sent[1:], got))
}

func TestDelayHoldsBackEachWay(t *testing.T) {
	tier.Real(t)
	proxy, conn, _, _ := through(t)
	proxy.Delay(moment)
	began := time.Now()
	passes(t, conn)
	require.GreaterOrEqual(t, time.Since(began), 2*moment)
	proxy.Heal()
	began = time.Now()
	passes(t, conn)
	require.Less(t, time.Since(began), 2*moment)
}

func TestProxyWithoutATargetBreaksConnections(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	requireRefused(t, proxyTo(t, l.Addr().String()))
}

func TestCloseEndsConnectionsThatHang(t *testing.T) {
	tier.Real(t)
	proxy, open, _, _ := through(t)
	proxy.Blackhole()
	hanging := dial(t, proxy)
	proxy.Close()
	proxy.Close()
	requireBroken(t, open)
	requireBroken(t, hanging)
}
