package pace_test

// A way that is slow: its latency, its bandwidth, their order, and their end.

import (
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/zkserver/memnet"
	"github.com/troupe-go/troupe/internal/zkserver/pace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ends are both ends of a slow way in virtual time; the bubble checks that no goroutine is left.
func ends(t *testing.T, test func(t *testing.T, client net.Conn, server *pace.Conn)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, conn := memnet.Pipe("client", "server")
		var work sync.WaitGroup
		server := pace.New(conn, work.Go, nil)
		test(t, client, server)
		client.Close()
		server.Close()
		work.Wait()
	})
}

func send(t *testing.T, w io.Writer, text string) {
	t.Helper()
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
}

// receive reads a text, and says how long after the instant it was there.
func receive(t *testing.T, r io.Reader, text string, since time.Time) time.Duration {
	t.Helper()
	got := make([]byte, len(text))
	_, err := io.ReadFull(r, got)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
	return time.Since(since)
}

// Ten frames sent 10 ms apart over a way of 100 ms are under way together: each takes 100 ms.
func TestLatencyHoldsNothingUpBehindIt(t *testing.T) {
	ends(t, func(t *testing.T, client net.Conn, server *pace.Conn) {
		server.SetSpeed(pace.Speed{Latency: 100 * time.Millisecond})
		for _, way := range []struct {
			from io.Writer
			to   io.Reader
		}{{client, server}, {server, client}} {
			began := time.Now()
			go func() { // ends with the last frame, before they have all been received
				for range 10 {
					io.WriteString(way.from, "frame")
					time.Sleep(10 * time.Millisecond)
				}
			}()
			for i := range 10 {
				require.Equal(t, time.Duration(i)*10*time.Millisecond+100*time.Millisecond, receive(t, way.to, "frame", began))
			}
		}
	})
}

func TestBandwidthIsShared(t *testing.T) {
	ends(t, func(t *testing.T, client net.Conn, server *pace.Conn) {
		server.SetSpeed(pace.Speed{Latency: time.Second, BytesPerSecond: 10})
		now := time.Now()
		send(t, server, "0123456789")
		send(t, server, "0123456789")
		require.Equal(t, 2*time.Second, receive(t, client, "0123456789", now))
		require.Equal(t, 3*time.Second, receive(t, client, "0123456789", now))
	})
}

func TestNothingOvertakesWhenTheWayGetsQuick(t *testing.T) {
	ends(t, func(t *testing.T, client net.Conn, server *pace.Conn) {
		server.SetSpeed(pace.Speed{Latency: time.Second})
		now := time.Now()
		send(t, server, "slow")
		send(t, client, "slow")
		synctest.Wait()
		server.SetSpeed(pace.Speed{})
		send(t, server, "quick")
		send(t, client, "quick")
		require.Equal(t, time.Second, receive(t, client, "slowquick", now))
		require.Equal(t, time.Second, receive(t, server, "slowquick", now))
		now = time.Now()
		send(t, server, "quick")
		send(t, client, "quick")
		require.Zero(t, receive(t, client, "quick", now))
		require.Zero(t, receive(t, server, "quick", now))
	})
}

// A reader that waited before the way became slow gets what is sent then late.
func TestAReaderThatWaitsIsSlowedToo(t *testing.T) {
	ends(t, func(t *testing.T, client net.Conn, server *pace.Conn) {
		go func() { // ends with its sleep
			time.Sleep(time.Second)
			server.SetSpeed(pace.Speed{Latency: time.Second})
			io.WriteString(client, "x")
		}()
		require.Equal(t, 2*time.Second, receive(t, server, "x", time.Now()))
	})
}

func TestFinishDeliversWhatIsUnderWayAndCloseDoesNot(t *testing.T) {
	ends(t, func(t *testing.T, client net.Conn, server *pace.Conn) {
		server.SetSpeed(pace.Speed{Latency: time.Second})
		now := time.Now()
		send(t, server, "last words")
		server.Finish(time.Second)
		got, err := io.ReadAll(client)
		require.NoError(t, err)
		require.Equal(t, "last words", string(got))
		require.Equal(t, time.Second, time.Since(now))
	})
	t.Run("close", func(t *testing.T) {
		ends(t, func(t *testing.T, client net.Conn, server *pace.Conn) {
			server.SetSpeed(pace.Speed{Latency: time.Second})
			send(t, server, "last words")
			server.Close()
			got, err := io.ReadAll(client)
			require.NoError(t, err)
			require.Empty(t, got)
			_, err = server.Write([]byte("x"))
			require.Error(t, err)
		})
	})
}

func TestSpeedsAddUp(t *testing.T) {
	t.Parallel()
	slow, narrow := pace.Speed{Latency: time.Second}, pace.Speed{Latency: time.Second, BytesPerSecond: 10}
	require.Equal(t, pace.Speed{Latency: 2 * time.Second, BytesPerSecond: 10}, slow.Plus(narrow))
	require.Equal(t, pace.Speed{Latency: 2 * time.Second, BytesPerSecond: 10}, narrow.Plus(slow))
	require.Equal(t, pace.Speed{Latency: 2 * time.Second, BytesPerSecond: 5}, narrow.Plus(pace.Speed{Latency: time.Second, BytesPerSecond: 5}))
}
