package zkserver_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// client says exactly what it is told to, one request after the other.
type client struct {
	t        *testing.T
	conn     net.Conn
	xid      int32
	id       int64
	password []byte
	events   []string // as "NodeCreated /a"
	zxids    []int64  // of all events so far
}

// world runs a test with a server in virtual time.
func world(t *testing.T, cfg zkserver.Config, test func(t *testing.T, s *zkserver.Server)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, start(t, cfg)) })
}

// join opens a session.
func join(t *testing.T, s *zkserver.Server) *client {
	t.Helper()
	c, p := shake(t, s, &jute.ConnectRequest{Timeout: 10000, Password: make([]byte, 16)})
	require.NotZero(t, p.SessionID)
	return c
}

// shake makes a handshake.
func shake(t *testing.T, s *zkserver.Server, q *jute.ConnectRequest) (*client, jute.ConnectResponse) {
	t.Helper()
	c := &client{t: t, conn: dial(t, s)}
	_, err := c.conn.Write(frame(q.Encode))
	require.NoError(t, err)
	var p jute.ConnectResponse
	require.NoError(t, p.Decode(jute.NewReader(c.frame())))
	c.id, c.password = p.SessionID, p.Password
	return c, p
}

func (c *client) frame() []byte {
	c.t.Helper()
	var head [4]byte
	c.conn.SetReadDeadline(time.Now().Add(time.Minute))
	_, err := io.ReadFull(c.conn, head[:])
	require.NoError(c.t, err)
	frame := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err = io.ReadFull(c.conn, frame)
	require.NoError(c.t, err)
	return frame
}

// do sends a request and waits for its answer; the events before it are kept.
func (c *client) do(q jute.Request) (p jute.Reply) {
	c.t.Helper()
	if q.Xid == 0 {
		c.xid++
		q.Xid = c.xid
	}
	_, err := c.conn.Write(request(q))
	require.NoError(c.t, err)
	for {
		r := jute.NewReader(c.frame())
		require.NoError(c.t, p.DecodeHeader(r))
		if p.Xid == jute.XidEvent {
			var e jute.Event
			e.Decode(r)
			c.zxids = append(c.zxids, p.Zxid)
			c.events = append(c.events, e.Type.String()+" "+e.Path)
			continue
		}
		require.Equal(c.t, q.Xid, p.Xid)
		require.NoError(c.t, p.DecodeBody(r, q.Op))
		require.Zero(c.t, r.Len())
		return p
	}
}

// must is do for what has to succeed.
func (c *client) must(q jute.Request) jute.Reply {
	c.t.Helper()
	p := c.do(q)
	require.Equal(c.t, jute.OK, p.Err, "%v %s", q.Op, q.Path)
	return p
}

func (c *client) create(path string, flags int32) jute.Reply { return c.must(create(path, flags)) }

// told is what the client was told of since it was asked last.
func (c *client) told() []string {
	c.t.Helper()
	c.do(jute.Request{Xid: jute.XidPing, Op: jute.OpPing})
	all := c.events
	c.events = nil
	return all
}

// over asserts that the server has hung up.
func (c *client) over() {
	c.t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(time.Second))
	_, err := c.conn.Read(make([]byte, 1))
	require.ErrorIs(c.t, err, io.EOF)
}

func create(path string, flags int32) jute.Request {
	return jute.Request{Op: jute.OpCreate, Path: path, Data: []byte("data"), ACL: jute.OpenACL(), Flags: flags}
}

func set(path, data string) jute.Request {
	return jute.Request{Op: jute.OpSetData, Path: path, Data: []byte(data), Version: -1}
}

func remove(path string) jute.Request {
	return jute.Request{Op: jute.OpDelete, Path: path, Version: -1}
}
