package memnet_test

// A way that takes a time: its latency, its order, its end.

import (
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/zkserver/memnet"
)

// slow runs a test in virtual time with a connection whose latency is a second, both ways.
func slow(t *testing.T, test func(t *testing.T, client, server *memnet.Conn)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, server := memnet.Pipe("client", "server")
		defer client.Close()
		defer server.Close()
		server.SetLatency(time.Second)
		test(t, client, server)
	})
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

// Ten frames sent 10 ms apart are under way together, each for a second.
func TestLatencyHoldsNothingUpBehindIt(t *testing.T) {
	slow(t, func(t *testing.T, client, server *memnet.Conn) {
		for _, way := range [][2]*memnet.Conn{{client, server}, {server, client}} {
			began := time.Now()
			go func() { // ends with the last frame, before they have all been received
				for range 10 {
					io.WriteString(way[0], "frame")
					time.Sleep(10 * time.Millisecond)
				}
			}()
			for i := range 10 {
				require.Equal(t, time.Duration(i)*10*time.Millisecond+time.Second, receive(t, way[1], "frame", began))
			}
		}
	})
}

// Bytes that are sent over a way that has become quick arrive behind those that are still under
// way; after that at once.
func TestNothingOvertakesWhenTheWayGetsQuick(t *testing.T) {
	slow(t, func(t *testing.T, client, server *memnet.Conn) {
		for _, c := range []struct {
			one, two time.Duration // latencies
			want     time.Duration // until both are there
		}{{time.Second, 0, time.Second}, {0, time.Second, time.Second}, {0, 0, 0}} {
			began := time.Now()
			server.SetLatency(c.one)
			io.WriteString(client, "one")
			server.SetLatency(c.two)
			io.WriteString(client, "two")
			require.Equal(t, c.want, receive(t, server, "onetwo", began))
		}
	})
}

// What was read leaves the buffer, though it is never empty while more is under way.
func TestTheBufferKeepsNoBytesThatWereRead(t *testing.T) {
	slow(t, func(t *testing.T, client, server *memnet.Conn) {
		const frame, ahead = 100 << 10, 5 // half a buffer is under way
		way := time.Second / ahead
		var before, after runtime.MemStats
		buf := make([]byte, frame)
		for n := range 1000 {
			client.Write(buf)
			if n >= ahead {
				_, err := io.ReadFull(server, buf)
				require.NoError(t, err)
			}
			if n == 100 {
				runtime.GC()
				runtime.ReadMemStats(&before)
			}
			time.Sleep(way)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(20*memnet.BufferSize), "of 100 MB that were sent")
	})
}

// A close comes behind what was written before it.
func TestACloseComesBehindWhatIsUnderWay(t *testing.T) {
	slow(t, func(t *testing.T, client, server *memnet.Conn) {
		began := time.Now()
		io.WriteString(server, "last words")
		server.Close()
		got, err := io.ReadAll(client)
		require.NoError(t, err)
		require.Equal(t, "last words", string(got))
		require.Equal(t, time.Second, time.Since(began))
	})
}
