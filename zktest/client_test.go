package zktest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// bubble runs a test in virtual time with a server.
func bubble(t *testing.T, test func(t *testing.T, s *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := zktest.Start(t, opts...)
		test(t, s)
	})
}

// client opens a session over memory with a server, the i-th if there are several.
func client(t *testing.T, s *zktest.Server, timeout time.Duration, front ...int) *raw {
	t.Helper()
	i := 0
	if len(front) > 0 {
		i = front[0]
	}
	c, err := resume(s, &raw{password: make([]byte, 16), timeout: int32(timeout.Milliseconds())}, i)
	require.NoError(t, err)
	require.NotZero(t, c.session)
	return c
}

// resume goes on with a client's session over a new connection.
func resume(s *zktest.Server, old *raw, front int) (*raw, error) {
	conn, err := s.Dialer()(context.Background(), "tcp", s.Hosts()[front])
	if err != nil {
		return nil, err
	}
	c, err := greet(conn, jute.ConnectRequest{SessionID: old.session, Password: old.password, Timeout: old.timeout, LastZxidSeen: old.seen})
	if err != nil {
		conn.Close()
		return nil, err
	}
	c.xid = old.xid
	return c, nil
}

func create(path string, flags int32) jute.Request {
	return jute.Request{Op: jute.OpCreate, Path: path, Data: []byte("data"), ACL: jute.OpenACL(), Flags: flags}
}

// must sends a request that has to succeed.
func (c *raw) must(t *testing.T, q jute.Request) jute.Reply {
	t.Helper()
	p, err := c.do(q)
	require.NoError(t, err)
	require.Equal(t, jute.OK, p.Err, "%v %s", q.Op, q.Path)
	return p
}

func (c *raw) ping(t *testing.T) {
	t.Helper()
	_, err := c.do(jute.Request{Xid: jute.XidPing, Op: jute.OpPing})
	require.NoError(t, err)
}

func (c *raw) exists(t *testing.T, path string) bool {
	t.Helper()
	p, err := c.do(jute.Request{Op: jute.OpExists, Path: path})
	require.NoError(t, err)
	return p.Err == jute.OK
}

// silent asserts that nothing comes for a while of virtual time.
func (c *raw) silent(t *testing.T, d time.Duration) {
	t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(d))
	var b [1]byte
	n, err := c.in.Read(b[:])
	require.Zero(t, n)
	require.ErrorContains(t, err, "timeout")
}
