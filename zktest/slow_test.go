package zktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// took is how long a ping takes, there and back.
func took(t *testing.T, c *raw) time.Duration {
	t.Helper()
	began := time.Now()
	c.ping(t)
	return time.Since(began)
}

func TestASlowSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		slow, quick := client(t, s, 10*time.Second), client(t, s, 10*time.Second)
		heal := s.Slow(slow.session, zktest.Speed{Latency: 50 * time.Millisecond})
		require.Equal(t, 100*time.Millisecond, took(t, slow), "there and back")
		require.Zero(t, took(t, quick))

		// An event takes the way too.
		quick.must(t, create("/a", 0))
		slow.must(t, jute.Request{Op: jute.OpExists, Path: "/a", Watch: true})
		began := time.Now()
		quick.must(t, jute.Request{Op: jute.OpDelete, Path: "/a", Version: -1})
		_, err := slow.frame()
		require.NoError(t, err)
		require.Equal(t, 50*time.Millisecond, time.Since(began))

		// It stays slow over a new connection, and another slowdown comes on top.
		slow, err = resume(s, slow, 0)
		require.NoError(t, err)
		require.Equal(t, 100*time.Millisecond, took(t, slow))
		defer s.SlowServer(0, zktest.Speed{Latency: time.Second})()
		require.Equal(t, 2100*time.Millisecond, took(t, slow))
		heal()
		heal()
		require.Equal(t, 2*time.Second, took(t, slow))
	})
}

// Requests in flight share the latency, and the bandwidth.
func TestASlowHost(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		far := s.Host("far")
		heal := far.Slow(zktest.Speed{Latency: time.Second, BytesPerSecond: 1000})
		began := time.Now()
		conn, err := far.Dialer()(context.Background(), "tcp", s.Hosts()[0])
		require.NoError(t, err)
		c, err := greet(conn, jute.ConnectRequest{Timeout: 30000, Password: make([]byte, 16)})
		require.NoError(t, err)
		const there, back = 49, 41
		require.Equal(t, 2*time.Second+(there+back)*time.Millisecond, time.Since(began), "the handshake too")

		c.must(t, jute.Request{Op: jute.OpCreate, Path: "/a", Data: make([]byte, 900), ACL: jute.OpenACL()})
		began = time.Now()
		const reads, request, reply = 3, 19, 4 + 16 + 4 + 900 + 68
		for i := range int32(reads) {
			require.NoError(t, c.send(jute.Request{Xid: 100 + i, Op: jute.OpGetData, Path: "/a"}))
		}
		for range reads {
			_, err := c.frame()
			require.NoError(t, err)
		}
		require.Equal(t, 2*time.Second+(request+reads*reply)*time.Millisecond, time.Since(began))
		heal()
		require.Zero(t, took(t, c))
	})
}

// A way that is slower than the timeout looks like a partition: the server hears nothing in time.
func TestASessionExpiresBehindAWayThatIsTooSlow(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 4*time.Second)
		s.Slow(c.session, zktest.Speed{Latency: 10 * time.Second})
		require.NoError(t, c.send(jute.Request{Xid: jute.XidPing, Op: jute.OpPing}))
		time.Sleep(7 * time.Second)
		_, alive := s.Session(c.session)
		require.False(t, alive)
	})
}

func TestASlowServerCloses(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 4*time.Second)
		s.Slow(c.session, zktest.Speed{Latency: time.Hour})
		require.NoError(t, c.send(jute.Request{Xid: 1, Op: jute.OpCloseSession}))
		began := time.Now()
		time.Sleep(90 * time.Minute) // the request has arrived, its answer is under way
		require.NoError(t, s.Close())
		require.Equal(t, 90*time.Minute, time.Since(began))
	})
}
