package zktest_test

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// One connection more than a client may have is accepted and reset; when another one has ended
// there is room again.
func TestTooManyConnectionsAreResetAsByTheRealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	const limit = 10
	real := ensemble.Start(t, 1, ensemble.WithConfig("maxClientCnxns", strconv.Itoa(limit)))
	both(t, zktest.Start(t, asVersionOf(t, real), zktest.WithMaxConnections(limit)).Servers(), real.Servers(), func(t *testing.T, servers []string, say func(string, ...any)) {
		open := func() (*raw, error) {
			conn, err := net.Dial("tcp", servers[0])
			if err != nil { // the reset can come before dialing has returned
				return nil, err
			}
			t.Cleanup(func() { conn.Close() })
			return greet(conn, jute.ConnectRequest{Timeout: 30000, Password: make([]byte, 16)})
		}
		// How many there is room for is not compared: a real server that was asked too early keeps
		// counting the connection by which it was asked.
		var all []*raw
		c, err := open()
		for ; err == nil; c, err = open() {
			all = append(all, c)
			require.LessOrEqual(t, len(all), limit)
		}
		require.NotEmpty(t, all)
		say("one too many: %v", ending(err))
		all[0].conn.Close()
		require.Eventually(t, func() bool { _, err := open(); return err == nil }, patience, 50*time.Millisecond)
		_, err = open()
		say("one too many again: %v", ending(err))
	})
}
